"""Intents that outlive the program."""

import asyncio

from kit.registry import scenario

# Seconds: longer than the first program takes on a busy machine, which would give the intents up itself.
PATIENCE = 15


async def killed(play, *tags, **options):
    """Ends the program while intents wait, the first one without its answer; returns the request of that one."""
    await play.live_with_folder(**options)
    for tag in tags:
        play.send(tag)
    first = await play.intent(rule=72)
    await play.keeps(72, *tags)
    await play.kill()
    return first


@scenario(72)
async def kept_intents(play):
    """Intents outlive the program: the next run sends them first, in order, once, with their keys and their session."""
    keys = [(await killed(play, "kept-a", "kept-b", "kept-c")).key]
    for tag, next_tag in (("kept-a", "kept-b"), ("kept-b", "kept-c")):
        await play.live_with_folder()
        play.send(f"new-{tag[-1]}")
        request = await play.intent(rule=72)
        play.check(72, request.json()["tag"] == tag, f"the intent {tag}", request.body.decode())
        play.check(72, request.key == keys[-1], f"the key {keys[-1]}", request.key)
        play.check(72, request.headers.get("mvi-session") == "s1", "MVI-Session: s1", request.headers.get("mvi-session"))
        play.accept(request)
        following = await play.intent(rule=72)
        play.check(72, following.json()["tag"] == next_tag, f"the intent {next_tag}", following.body.decode())
        keys.append(following.key)
        await play.keeps(72, next_tag, f"new-{tag[-1]}", drops=[tag])
        await play.kill()
    play.check(72, len(set(keys)) == 3, "a key for each intent", keys)
    await play.live_with_folder()
    for tag in ("kept-c", "new-a", "new-b"):
        request = await play.intent(rule=72)
        play.check(72, request.json()["tag"] == tag, f"the intent {tag}", request.body.decode())
        play.accept(request)
    await play.keeps(72, drops=["kept-", "new-"])
    await play.no_request("intent", 72, 0.3, "each intent once")


async def only_abandoned(play, rule, *tags, **options):
    """The next run gives kept intents up, and sends what is new."""
    await play.open(folder=play.folder.name, **options)
    stream = await play.stream()
    stream.accept(retry=50)
    for tag in tags:
        await play.saw("abandoned", rule, f"`abandoned` for {tag}", intent={"type": "add", "tag": tag})
    play.send("new")
    request = await play.intent(rule=rule)
    play.check(rule, request.json()["tag"] == "new", "only the new intent is sent", request.body.decode())
    play.accept(request)
    await play.saw("sent", rule, "the new intent is sent", tag="new")


@scenario(72, 73)
async def kept_intents_lose_patience(play):
    """The patience of a kept intent passes while no program runs."""
    await killed(play, "kept-a", "kept-b", patience=PATIENCE)
    await asyncio.sleep(PATIENCE)
    await only_abandoned(play, 73, "kept-a", "kept-b", patience=PATIENCE)


@scenario(72, 74)
async def kept_intents_of_another_session(play):
    """Without their session's credential kept intents are given up: the new session may be another user's."""
    await killed(play, "kept-a", "kept-b")
    play.forget_credential()
    await only_abandoned(play, 74, "kept-a", "kept-b")
