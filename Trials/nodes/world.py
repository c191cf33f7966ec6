"""What the trials share: the folder, the programs, the database and nodes, all of which end with the trial."""

import asyncio
import signal

from cluster import Postgres
from figures import Failure, Figures
from link import Lost
from nodes import Balancer, Node
from notes import Notes
from processes import Folder


class World:
    def __init__(self, options):
        self.options = options
        self.figures = Figures()
        self.notes = Notes(self.figures)
        self.folder = Folder(options.keep)
        self.started, self.databases = [], []

    @property
    def path(self):
        return self.folder.path

    def length(self, long, short):
        """How long or how often: as asked for, else as the form of the run has it."""
        return self.options.length or (short if self.options.short else long)

    async def database(self, name="db", **arguments):
        made = Postgres(self.path, name, **arguments)
        self.databases.append(made)
        await made.make()
        return made

    def standby(self, name, **arguments):
        made = Postgres(self.path, name, **arguments)
        self.databases.append(made)
        return made

    def node(self, name, journal, binary=None, **settings):
        made = Node(binary or self.options.server, self.path, name, journal, **settings)
        self.started.append(made)
        return made

    async def nodes(self, count, journal, **settings):
        """Nodes one after the other: the first one makes the schema."""
        made = [self.node(f"node{place + 1}", journal, **settings) for place in range(count)]
        for each in made:
            await each.start()
        return made

    async def balancer(self, nodes, **arguments):
        made = Balancer(self.path, nodes, **arguments)
        self.started.append(made)
        return await made.start()

    def look_at_logs(self):
        """Errors of the nodes, for who looks for a reason."""
        for each in self.started:
            if isinstance(each, Node):
                crashes = each.count(r"Fatal error|Crash|Segmentation|Illegal instruction")
                if crashes:
                    self.figures.fault(f"{each.name} crashed {crashes} times: {each.said()}")

    async def close(self):
        self.look_at_logs()
        for each in reversed(self.started):
            await each.kill()
        for each in self.databases:
            await each.stop()
        self.folder.remove()


async def run_in_world(run, options):
    """Calls `run` with a world that ends afterwards. Returns 0 if everything held, 1 after a fault, 2 if it was stopped."""
    world = World(options)
    task = asyncio.current_task()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    code = 2
    try:
        await run(world)
        code = 0
    except (Failure, Lost, TimeoutError) as reason:
        # Nodes that do not come up again are a broken promise where everything else had come up.
        world.figures.fault(f"it ended early: {type(reason).__name__}: {reason}")
    except asyncio.CancelledError:
        world.figures.note("stopped")
    finally:
        await world.close()
        world.figures.end()
    return 1 if world.figures.faults else code
