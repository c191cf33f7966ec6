"""Bytes: cuts, line ends, fields and ids, as the WHATWG text has them."""

import asyncio
import json

from kit.play import LONG_RETRY
from kit.registry import scenario


def state_bytes(version, text="añ→😀", end="\n"):
    """One state event whose text needs one to four bytes a character."""
    data = json.dumps({"feature": "counter", "version": version, "state": {"text": text}}, ensure_ascii=False)
    return end.join(["event: state", f"data: {data}", "", ""]).encode()


async def shows_text(play, version, rule, text="añ→😀", seconds=None):
    await play.shows(version, rule=rule, state={"text": text}, seconds=seconds)


@scenario(15, 27)
async def cut_in_event(play):
    """An event without its blank line is discarded with its id, whether the stream is reset, closed or ended."""
    stream = await play.live()
    version = 10
    for end in ("cut", "close", "finish"):
        stream.state(version, id=f"e1.{version}")
        await play.shows(version)
        stream.send(f'id: e1.{version + 5}\nevent: state\ndata: {{"feature":"counter","version":{version + 5},"state":{{}}}}\n')
        await asyncio.sleep(0.05)
        getattr(stream, end)()
        stream = await play.stream()
        play.check(15, stream.request.last_event_id == f"e1.{version}", f"the cursor e1.{version}", stream.request.last_event_id)
        stream.accept()
        version += 10
        stream.state(version, id=f"e1.{version}")
        await play.shows(version)
        play.does_not_show(version - 5, 15)


@scenario(7, 15)
async def cut_in_character(play):
    """A stream cut inside a UTF-8 sequence leaves nothing behind for the next one."""
    stream = await play.live()
    for version, end in ((10, "cut"), (20, "finish")):
        whole = state_bytes(version)
        stream.send(whole[:whole.index("😀".encode()) + 2])
        await asyncio.sleep(0.05)
        getattr(stream, end)()
        stream = await play.stream(rule=15)
        stream.head()
        # A decoder that kept the half character would spoil the first field.
        stream.send(": ok\n")
        stream.hello()
        stream.send(state_bytes(version + 1))
        await shows_text(play, version + 1, 7)
        play.does_not_show(version, 15)


@scenario(15, 27)
async def cut_in_chunk(play):
    """A stream cut inside an HTTP chunk resumes after the last event that the client dispatched."""
    stream = await play.live()
    version = 10
    for end in ("cut", "close"):
        stream.state(version, id=f"e1.{version}")
        await play.shows(version)
        event = f"id: e1.{version + 1}\n".encode() + state_bytes(version + 1) + b"event: state\nda"
        stream.raw(b"%x\r\n%b" % (len(event) + 40, event))
        await asyncio.sleep(0.2)
        getattr(stream, end)()
        stream = await play.stream()
        stream.accept()
        stream.state(version + 10, id=f"e1.{version + 10}")
        await play.shows(version + 10)
        # The whole event before the cut may have reached the client or not; the cursor has to say the same. What the driver
        # said of it comes before the later state, but perhaps after the request.
        shown = bool(play.said("state", version=version + 1))
        wanted = f"e1.{version + 1 if shown else version}"
        play.check(27, stream.request.last_event_id == wanted, f"the cursor {wanted} of the last dispatched event",
                   stream.request.last_event_id)
        version += 10


@scenario(7, 8)
async def split_anywhere(play):
    """The same event arrives, wherever its bytes are split over TCP writes and HTTP chunks."""
    stream = await play.live()
    version = 2
    for end in ("\n", "\r", "\r\n"):
        for split in range(1, len(state_bytes(100, end=end))):
            event = state_bytes(version + 100, end=end)
            await stream.drip(event[:split], event[split:], pause=0.001)
            version += 1
    await shows_text(play, version + 99, 7)
    for shown in range(102, version + 100):
        await shows_text(play, shown, 7)


@scenario(7, 8)
async def byte_by_byte(play):
    """Events arrive that were sent as single bytes, below the framing and as chunks of one byte."""
    stream = await play.live()
    for version, end in ((2, "\n"), (4, "\r\n"), (6, "\r")):
        framed = stream.frame(state_bytes(version, end=end))
        await stream.drip(*(framed[at:at + 1] for at in range(len(framed))), framed=False, pause=0.0005)
        await shows_text(play, version, 7)
        event = state_bytes(version + 1, end=end)
        await stream.drip(*(event[at:at + 1] for at in range(len(event))), pause=0.0005)
        await shows_text(play, version + 1, 7)


@scenario(8)
async def line_ends(play):
    """CR, LF, CRLF and mixtures of them end lines."""
    stream = await play.live()
    data = '{"feature":"counter","version":%d,"state":{"text":"x"}}'
    version = 2
    for first in ("\n", "\r", "\r\n"):
        for second in ("\n", "\r", "\r\n"):
            for blank in ("\n", "\r", "\r\n"):
                if second == "\r" and blank == "\n":
                    continue
                stream.send(f"event: state{first}data: {data % version}{second}{blank}")
                version += 1
    for shown in range(2, version):
        await shows_text(play, shown, 8, "x")


@scenario(8)
async def carriage_return_alone(play):
    """A CR ends its line at once; an LF in the next write belongs to it and is no second line end."""
    stream = await play.live()
    await stream.drip(state_bytes(2, end="\r"), pause=0.1)
    await shows_text(play, 2, 8)
    # The LF of the blank line's CRLF comes late. As a line of its own it would dispatch nothing, as a part of
    # the next event's first line it would spoil that.
    await stream.drip("\n", 'event: state\r', '\ndata: {"feature":"counter","version":3,\r', '\ndata: "state":{"text":"x"}}\r',
                      "\n\r", pause=0.05)
    await shows_text(play, 3, 8, "x")


@scenario(9)
async def byte_order_mark(play):
    """One byte order mark at the start of each stream is skipped, also in pieces; a later one is not."""
    await play.open()
    mark = b"\xef\xbb\xbf"
    for number, split in enumerate((0, 1, 2, 3), 1):
        stream = await play.stream(rule=9)
        stream.head()
        await stream.drip(mark[:split], mark[split:] + b"event: hello\n", pause=0.02)
        stream.send('data: {"session":"s1","epoch":"e1","resumed":false,"cursor":"e1.1","heartbeat":20,"features":["counter"]}\n\n')
        stream.state(number)
        await play.condition("live", rule=9)
        await play.shows(number, rule=9)
        if split == 3:
            # Inside the stream a mark is a part of the field's name, which is then unknown.
            stream.send(mark + state_bytes(50))
            stream.state(51)
            await play.shows(51, rule=9)
            play.check(9, not play.said("state", version=50), "an event after a later mark has no type", play.recent())
        stream.goaway("rotate", 20)


@scenario(10)
async def comments(play):
    """Comments and unknown fields are ignored, before, inside and behind events."""
    stream = await play.live()
    stream.send(":\n: text\n:event: state\n::\n\n")
    stream.send('event: state\n: inside\ndata: {"feature":"counter","version":2,\n:data: x\nfoo: bar\nDATA: x\n data: x\n'
                'data: "state":{"count":2}}\nevents: label\n\n:\n')
    await play.shows(2, rule=10)


@scenario(11)
async def data_lines(play):
    """Data lines are joined by LF, one blank behind the colon is no part of them, and a field needs no colon."""
    stream = await play.live()
    stream.send('event:state\ndata:{"feature":"counter",\ndata:  "version"\ndata\ndata: :2,\ndata:"state":\ndata: {"text":" x"}}\n\n')
    await play.shows(2, rule=11, state={"text": " x"})
    # Joined by nothing this would be the version 34; joined by LF it is no JSON, so the stream is opened anew.
    stream.send('event: state\ndata: {"feature":"counter","version":3\ndata: 4,"state":{"count":34}}\n\n')
    stream = await play.stream(rule=11, expected="broken JSON is noticed, and the stream opened anew")
    stream.accept()
    # A type with two blanks before it is another type.
    stream.send('event:  state\ndata: {"feature":"counter","version":40,"state":{"count":40}}\n\n')
    stream.state(41)
    await play.shows(41, rule=11)
    play.does_not_show(34, 11)
    play.does_not_show(40, 11)


@scenario(12)
async def event_types(play):
    """An event without data is none, and its type does not stay for the next."""
    stream = await play.live()
    stream.send('event: state\n\ndata: {"feature":"counter","version":2,"state":{"count":2}}\n\n')
    stream.send('event: label\nevent: state\ndata: {"feature":"counter","version":3,"state":{"count":3}}\n\n')
    await play.shows(3, rule=12)
    play.does_not_show(2, 12)
    # The type of the broken event is `message`, so its data is not read, and the stream stays.
    stream.send("data: {{{\n\n")
    await play.no_request("stream", 12, 0.3, "events of an unknown type are not read")


@scenario(13)
async def ids_without_data(play):
    """The last id is taken over with the blank line, also where there is no data, and stays for later events."""
    stream = await play.live(retry=30)
    stream.state(2, id="e1.2")
    stream.send("id: e1.3\n\n")
    stream.state(4)
    await play.shows(4)
    stream.send("id: e1.9\n")
    stream.finish()
    stream = await play.stream(rule=13)
    play.check(13, stream.request.last_event_id == "e1.3", "the cursor e1.3", stream.request.last_event_id)


@scenario(13)
async def empty_id(play):
    """An empty id takes the last id back: the next stream is asked for without one."""
    stream = await play.live(retry=30)
    stream.state(2, id="e1.2")
    stream.send("id:\n\n")
    stream.state(3)
    await play.shows(3)
    stream.finish()
    stream = await play.stream(rule=13)
    play.check(13, stream.request.last_event_id is None, "no Last-Event-ID", stream.request.last_event_id)
    stream.accept(cursor="e1.5")
    stream.state(5)
    await play.shows(5)
    stream.send("id\n\n")
    stream.state(6)
    await play.shows(6)
    stream.finish()
    stream = await play.stream(rule=13)
    play.check(13, stream.request.last_event_id is None, "no Last-Event-ID", stream.request.last_event_id)


@scenario(13)
async def id_with_nul(play):
    """An id with NUL is ignored."""
    stream = await play.live(retry=30)
    stream.state(2, id="e1.2")
    stream.send("id: e1\0.7\n\n")
    stream.send('id: e1.3\nid: \0\nevent: state\ndata: {"feature":"counter","version":3,"state":{"count":3}}\n\n')
    await play.shows(3)
    stream.finish()
    stream = await play.stream(rule=13)
    play.check(13, stream.request.last_event_id == "e1.3", "the cursor e1.3", stream.request.last_event_id)


@scenario(14)
async def retry_field(play):
    """`retry` counts if it has ASCII digits only; whatever else is ignored."""
    stream = await play.live(retry=LONG_RETRY)
    # What is no number of milliseconds would make the wait much longer or much shorter.
    stream.send("retry: 400\nretry: 30000x\nretry: -1\nretry: 1.5\nretry: ３００００\nretry: 0x10\nretry:  30000 \nretry: +9\n\n")
    stream.state(2)
    await play.shows(2)
    stream.finish()
    after = await play.stream(rule=14, expected="a stream after at most 0.8 s", seconds=0.8 + play.at_once)
    play.check_wait(14, after, stream, 0.18, 0.8, "`retry: 400`")


@scenario(16)
async def large_event(play):
    """An event of a megabyte, and one of three, arrive whole."""
    stream = await play.live()
    for version, size in ((2, 1 << 20), (3, 3 << 20)):
        text = ("0123456789abcde\n" * (size // 16 + 1))[:size - 6] + "→😀"
        event = state_bytes(version, text)
        for at in range(0, len(event), 50_000):
            stream.send(event[at:at + 50_000])
            await stream.request.connection.writer.drain()
        await shows_text(play, version, 16, text)


@scenario(17)
async def unframed_stream(play):
    """A stream without chunks, with other media type parameters, is read until the connection closes."""
    await play.open()
    stream = await play.stream()
    stream.accept(chunked=False, media="Text/Event-Stream;charset=UTF-8", retry=30)
    stream.state(2, id="e1.2")
    await play.condition("live", rule=17)
    await play.shows(2, rule=17)
    stream.close()
    stream = await play.stream(rule=17)
    play.check(17, stream.request.last_event_id == "e1.2", "the cursor e1.2", stream.request.last_event_id)
    stream.accept(media="text/event-stream")
    stream.state(3)
    await play.shows(3, rule=17)


@scenario(17)
async def odd_chunks(play):
    """Chunks with extensions, leading zeros and capital digits are read."""
    stream = await play.live()
    event = state_bytes(2)
    stream.raw(b"000%X;name=value\r\n%b\r\n" % (len(event), event))
    await shows_text(play, 2, 17)


@scenario(17)
async def asks_for_events(play):
    """A stream is asked for with `Accept: text/event-stream`."""
    await play.open()
    stream = await play.stream()
    accept = stream.request.headers.get("accept", "")
    play.check(17, "text/event-stream" in accept, "Accept: text/event-stream", accept or "no Accept")
