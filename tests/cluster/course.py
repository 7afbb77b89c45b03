"""A stretch of training without a run: tests of both kinds of shards walk it."""

from dataclasses import replace

from pvp_ml.rl.schedule.schedule import Progress


class Course:
    """Rollouts and updates, one after another; remembers what came out."""

    def __init__(self, learning, progress=None):
        self.learning, self.progress = learning, progress or Progress(total_steps=100_000)
        self.outcomes, self.metrics, self.cluster = [], [], []

    def go(self, rollouts):
        for _ in range(rollouts):
            collected = self.learning.collect(self.progress)
            self.outcomes += [(o.plan.serial, o.steps, o.result, o.score) for o in collected.outcomes]
            self.metrics.append(self.learning.learn(self.progress)["main"])
            self.cluster.append(self.learning.shards.take_metrics())
            steps = self.progress.steps + collected.steps
            self.progress = replace(self.progress, steps=steps, rollouts=self.progress.rollouts + 1)
        return self

    @property
    def weights(self):
        return self.learning.trainees["main"].policy.flat.numpy().copy()
