"""Options of coaching. No torch: configurations are read and shown without it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CoachConfig(BaseModel):
    """A bot of the game, or a model, teaches the policy before the run's first step."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bot: str = Field("", description="the coach: a bot of the game that says what it would do")
    model: str = Field(
        "",
        description="or a model file: the policy starts as a copy, if its network is the same; neither = no coaching",
    )
    opponents: tuple[str, ...] = Field((), description="bots that the pupil meets in turn; it also meets itself")
    rounds: Annotated[int, Field(ge=1)] = Field(200, description="rounds of playing and learning")
    rows: Annotated[int, Field(ge=64)] = Field(8192, description="decisions played in a round")
    passes: Annotated[float, Field(gt=0)] = Field(4.0, description="rows learned for each row played")
    batch_size: Annotated[int, Field(ge=1)] = Field(256, description="rows of a minibatch")
    learning_rate: Annotated[float, Field(gt=0)] = Field(1e-3, description="step size of Adam; falls to a twentieth")
    memory: Annotated[int, Field(ge=1024)] = Field(500_000, description="decisions that are kept to learn from")
    shown: Annotated[float, Field(ge=0, le=1)] = Field(
        0.15, description="share of matches that the coach itself plays; all at first, this many after a third of it"
    )
    greedy: Annotated[float, Field(ge=0, le=1)] = Field(
        0.5, description="share of the pupil's matches in which it takes its likeliest choice instead of sampling"
    )

    @property
    def name(self) -> str:
        """Who coaches; '' when nobody does."""
        return self.bot or self.model

    @model_validator(mode="after")
    def _has_one_coach(self) -> CoachConfig:
        if self.bot and self.model:
            raise ValueError(f"bot '{self.bot}' and model '{self.model}' cannot both coach; leave one out")
        return self
