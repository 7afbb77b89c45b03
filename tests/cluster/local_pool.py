"""A pool without a network: workers are objects here, and the test decides who is slow and who dies."""

from dataclasses import dataclass, field

import numpy as np

from pvp_ml.cluster.roster import WorkerLostError
from pvp_ml.cluster.worker import RolloutWorker


@dataclass(eq=False)
class Ticket:
    rank: int
    worker: RolloutWorker
    method: str
    args: tuple
    turns: int  # polls until it is answered
    is_lost: bool = False


@dataclass
class Handle:
    arrays: list
    fetches: int = 0


@dataclass
class LocalPool:
    """`slow(rank, method)` gives the polls that an answer takes; `absent` ranks never come."""

    slow: object = lambda rank, method: 0
    absent: set = field(default_factory=set)
    version: str = "2.52.0"
    node_version: str = "2.52.0"

    def __post_init__(self):
        self.workers, self.tickets, self.puts, self.started, self.now = {}, [], [], [], 0.0

    def clock(self):
        return self.now

    def fetch(self, handle):
        handle.fetches += 1
        return handle.arrays

    def start(self, rank, blueprint, mix):
        self.started.append(rank)
        self.workers[rank] = RolloutWorker(rank, blueprint, mix, self.fetch, self.node_version)

    def ask(self, rank, method, *args):
        ticket = Ticket(rank, self.workers[rank], method, args, self.slow(rank, method))
        self.tickets.append(ticket)
        return ticket

    def put(self, arrays):
        self.puts.append(Handle([np.array(a) for a in arrays]))
        for array in self.puts[-1].arrays:
            array.flags.writeable = False
        return self.puts[-1]

    def wait(self, tickets, timeout_s):
        done = [t for t in tickets if (t.turns <= 0 and t.rank not in self.absent) or t.is_lost]
        if not done:
            self.now += timeout_s
        for ticket in tickets:
            ticket.turns -= 1
        return done

    def take(self, ticket):
        if ticket.is_lost:
            raise WorkerLostError("died")
        return getattr(ticket.worker, ticket.method)(*ticket.args)

    def kill(self, rank):
        for ticket in self.tickets:
            ticket.is_lost |= ticket.worker is self.workers[rank]

    def close(self):
        for worker in self.workers.values():
            if worker._shard is not None:
                worker._shard.collector.game.close()
