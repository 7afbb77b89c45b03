"""Options of the learner. No torch: configurations are read and shown without it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pvp_ml.rl.schedule.schedule import Constant, Schedule, Within

Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "full", "mixed"]
Positive = Annotated[Schedule, Within(above=0.0)]
NonNegative = Annotated[Schedule, Within(low=0.0)]
Share = Annotated[Schedule, Within(low=0.0, high=1.0)]


class MagnetConfig(BaseModel):
    """A KL term that holds the policy near itself as it was some time ago."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weight: NonNegative = Field(Constant(0.0), description="weight of KL(policy ‖ magnet) in the loss; 0 = off")
    refresh: Annotated[int, Field(ge=0)] = Field(
        0, description="rollouts between copies of the policy into the magnet; 0 = never"
    )
    average: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        0.0, description="share of the policy's weights that flows into the magnet after every rollout; 0 = none"
    )


class TeacherConfig(BaseModel):
    """A KL term that holds the policy near a given one, such as a behavioural clone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weight: NonNegative = Field(Constant(0.0), description="weight of KL(policy ‖ teacher) in the loss; 0 = off")
    model: str = Field("", description="model file of the teacher; it must have this run's network")


class PpoConfig(BaseModel):
    """Options of the learner. Every schedule also takes a plain number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_steps: Annotated[int, Field(ge=1, le=65536)] = Field(32, description="steps of each match in a rollout")
    batch_size: Annotated[int, Field(ge=1)] = Field(
        4096, description="rows of a minibatch; `auto` = a quarter of a rollout"
    )
    n_epochs: Annotated[int, Field(ge=1, le=100)] = Field(2, description="passes over a rollout")
    learning_rate: NonNegative = Field(Constant(3e-4), description="step size of Adam")
    critic_learning_rate: NonNegative | None = Field(
        None, description="separate step size for the critic; empty = the same"
    )
    gamma: Share = Field(Constant(0.995), description="discount per decision of a seat")
    gae_lambda: Share = Field(Constant(0.95), description="λ of the advantage estimate")
    clip: NonNegative = Field(Constant(0.2), description="clipping range of the probability ratio")
    value_clip: Positive | None = Field(None, description="limit of a value's change per update; empty = none")
    value_coef: NonNegative = Field(Constant(0.5), description="weight of the value loss")
    entropy_coef: NonNegative = Field(Constant(0.01), description="weight of the entropy bonus, summed over heads")
    entropy_by_head: dict[str, NonNegative] = Field({}, description="head → its own entropy weight")
    max_grad_norm: Positive = Field(Constant(0.5), description="largest norm of a gradient step")
    clip_apart: bool = Field(False, description="clip the actor's and the critic's gradients separately")
    target_kl: Positive | None = Field(
        None, description="stop the epochs of a rollout when the KL estimate exceeds this"
    )
    gradient_accumulation: Annotated[int, Field(ge=1)] = Field(1, description="minibatches per optimiser step")
    sequence_length: Annotated[int, Field(ge=1, le=4096)] = Field(
        16, description="decisions to backpropagate through with memory"
    )
    freeze: tuple[str, ...] = Field((), description="tensors to freeze, by the start of their names")
    adam_epsilon: Annotated[float, Field(gt=0)] = Field(1e-5, description="ε of Adam")
    normalize_observations: bool = Field(True, description="running mean and variance per feature")
    normalize_rewards: bool = Field(True, description="divide by the running root mean square of discounted returns")
    reward_limit: Positive | None = Field(
        Constant(5.0), description="limit of a step's reward once it is normalised; empty = none"
    )
    normalize_advantages: bool = Field(True, description="over the whole rollout")
    advantage_power: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0, description="normalised advantages are taken to this power, sign kept; below 1, rare large ones count less"
    )
    critic_warmup: Annotated[int, Field(ge=0)] = Field(
        0, description="number of first rollouts in which only the critic learns"
    )
    win_coef: NonNegative = Field(Constant(0.1), description="weight of the win head's cross entropy")
    novelty_coef: NonNegative = Field(
        Constant(0.0), description="weight of the novelty reward: how far features are beyond one deviation, summed"
    )
    observation_noise: dict[str, NonNegative] = Field(
        {}, description="feature → deviation of the normal noise added to what the trainee sees of it, in its own unit"
    )
    forbidden: dict[str, tuple[str, ...]] = Field(
        {}, description="head → choices that the trainee may not take while it learns"
    )
    greedy_chance: Share = Field(
        Constant(0.0),
        description="chance per training decision of taking the most likely choice instead of sampling",
    )
    device: Device = Field("auto", description="where gradients are computed; auto = a GPU if torch finds one")
    precision: Precision = Field(
        "auto", description="mixed = matrix products in bfloat16; auto = mixed on a GPU that can, else full"
    )
    teacher: TeacherConfig = Field(TeacherConfig(), description="KL to a given policy, such as a behavioural clone")
    magnet: MagnetConfig = Field(MagnetConfig(), description="KL to an earlier copy of the policy itself")
