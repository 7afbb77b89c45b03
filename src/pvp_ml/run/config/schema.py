"""The configuration of a run: typed, nested, frozen. Read from a preset and flags, saved with the run, printed by
`pvp-ml config show`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import Field, ValidationError, create_model, field_validator

from pvp_ml.compat.options import joined_words, old_options, translated
from pvp_ml.data_files import RUNS
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.ppo_config import PpoConfig
from pvp_ml.rl.rewards import RewardConfig, RewardMixer
from pvp_ml.rl.schedule.expression import Expression
from pvp_ml.run.config.coach import CoachConfig
from pvp_ml.run.config.flags import Option, options_of, read_flags, short_names
from pvp_ml.run.config.presets import SUFFIXES, KeyPath, Layer, load_preset
from pvp_ml.run.config.validate import Section, read_settings
from pvp_ml.run.machine import auto_batch, auto_matches, cores, free_bytes
from pvp_ml.run.tracking.live_view import View
from pvp_ml.run.trust import require_flags
from pvp_ml.selfplay.matchmaking import SelfPlayConfig
from pvp_ml.spec import GameSpec, RewardTerm

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class EnvConfig(Section):
    """What is played. The game's own settings are in this section too."""

    name: str = Field(description="the game, as in `pvp-ml game list`")
    matches: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        128, description="parallel matches, over all shards; `auto` = chosen from cores and memory"
    )
    scenarios: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="scenario → how often to draw it; empty = the game's first"
    )

    @property
    def type(self) -> GameType:
        """The game."""
        return registry.find(self.name)

    @property
    def settings(self) -> GameConfig:
        """The game's own settings, checked by the game's own model."""
        model = self.type.config
        return model.model_validate({name: getattr(self, name) for name in model.model_fields})

    @property
    def spec(self) -> GameSpec:
        """The game as configured."""
        return self.type.spec(self.settings)


class EvalConfig(Section):
    """Matches that only measure."""

    every: Count = Field(0, description="environment steps between evaluations; 0 = only at the end")
    matches: Positive = Field(200, description="matches per evaluation and opponent, seats swapped")
    opponents: tuple[str, ...] = Field(("random",), description="bots of the game, players, or model files")
    greedy: bool = Field(False, description="take the most likely choice instead of sampling")
    references: dict[str, float] = Field(
        {}, description="reference opponent → its known rating; enables `eval/rating` on the same scale"
    )


class RunSection(Section):
    """The experiment itself."""

    name: str = Field("", description="folder under `directory`; empty = the preset's name, or the game's")
    description: str = Field("", description="free text, stored with the run")
    preset: str = Field("", description="what the run started from; filled in automatically")
    directory: str = Field(RUNS, description="where runs are kept")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="seed of all randomness")
    total_steps: Count = Field(1_000_000, description="environment steps of all matches; 0 = until stopped")
    max_seconds: Annotated[float, Field(ge=0)] = Field(
        0.0, description="stop after this much training time; 0 = no limit"
    )
    warm_start: str = Field("", description="model, checkpoint or run whose weights a new run begins with")
    session_rollouts: Count = Field(0, description="stop this session after this many rollouts; 0 = no limit")
    shards: Count = Field(
        0, description="worker processes, each playing and learning; 0 = one per core, on one external server one"
    )
    checkpoint_every: Positive = Field(250_000, description="environment steps between checkpoints")
    keep_checkpoints: Annotated[int, Field(ge=2)] = Field(3, description="number of checkpoints to keep")
    milestone_every: Count = Field(0, description="steps between milestones, which are never deleted; 0 = none")
    max_disk_gb: Annotated[float, Field(ge=0)] = Field(
        0.0, description="refuse to start if checkpoints and milestones would need more; 0 = no limit"
    )
    early_stopping: Expression | None = Field(
        None, description="stop once this is true, such as `eval_win_rate > 0.95`: metric names with _ for /"
    )


Topic = Literal["actions", "rewards", "resets", "learning", "checkpoints"]


class TrackingConfig(Section):
    """What is written and shown while it runs."""

    view: View = Field("auto", description="live panel, lines, or off; auto = live on a terminal")
    tensorboard: bool = Field(True, description="also write event files for TensorBoard")
    tensorboard_directory: str = Field("tensorboard", description="where event files go, one folder per run")
    histograms: bool = Field(False, description="also log histograms of weights and rewards to TensorBoard")
    wandb: str = Field("", description="Weights & Biases project to send metrics to; empty = none")
    debug: tuple[Topic, ...] = Field((), description="what to log in detail, such as `actions,rewards`")

    @field_validator("debug", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """`actions,rewards` is a list, too."""
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class ClusterConfig(Section):
    """Where matches are played when one machine is not enough. Learning stays in the trainer's process."""

    distribute: bool | Annotated[int, Field(ge=0, le=100_000)] = Field(
        False, description="play on a Ray cluster: true = one worker per CPU, or a number of workers"
    )
    ray_address: str = Field(
        "", description="a running cluster: `auto` or HOST:PORT; empty = $RAY_ADDRESS, or a new one on this machine"
    )
    staleness: Annotated[int, Field(ge=0, le=64)] = Field(
        0, description="how many updates old a rollout may be; 0 = synchronous, the same result as local training"
    )
    dashboard: bool = Field(False, description="Ray's web page on port 8265 of a cluster on this machine")

    @property
    def is_used(self) -> bool:
        """Whether matches are played on a cluster."""
        return bool(self.distribute) or bool(self.ray_address)


class PhaseConfig(Section):
    """A stretch of a run with settings of its own."""

    name: str = Field(description="label in logs and milestones")
    promote: Expression | None = Field(
        None, description="move to the next phase once this is true; metric names with _ for /, and `phase_steps`"
    )
    min_steps: Count = Field(0, description="minimum length of the phase in steps")
    settings: dict[str, Any] = Field(
        {}, description="what this phase changes: any section except run, tracking, cluster, coach and network"
    )


class Config(Section):
    """Everything that a run depends on."""

    env: EnvConfig
    network: NetworkConfig = NetworkConfig()
    ppo: PpoConfig = PpoConfig()
    reward: RewardConfig = RewardConfig()
    self_play: SelfPlayConfig = SelfPlayConfig()
    eval: EvalConfig = EvalConfig()
    run: RunSection = RunSection()
    tracking: TrackingConfig = TrackingConfig()
    cluster: ClusterConfig = ClusterConfig()
    coach: CoachConfig = CoachConfig()
    phases: tuple[PhaseConfig, ...] = Field((), description="training phases in order, each with its own settings")

    def in_phase(self, index: int) -> Config:
        """The configuration while that phase lasts; without phases, this one."""
        if not self.phases:
            return self
        phase = self.phases[index]
        if taken := sorted({"run", "tracking", "cluster", "coach", "network", "phases"} & set(phase.settings)):
            raise UserError(f"phase '{phase.name}' sets '{taken[0]}'", "a phase cannot change that section")
        base = Layer.of(self.model_dump(mode="json", exclude_unset=True, exclude={"phases"}), "the run's config")
        layer = Layer.of(phase.settings, f"phase '{phase.name}'").over(base)
        return read_config(layer).model_copy(update={"phases": self.phases})

    def to_data(self) -> dict[str, Any]:
        """Plain data that `read_config` reads back to an equal config."""
        return self.model_dump(mode="json")

    def to_yaml(self) -> str:
        """The same as YAML, sections in the order of this class."""
        return yaml.safe_dump(self.to_data(), sort_keys=False, allow_unicode=True, width=110)


WELL_KNOWN: dict[str, KeyPath] = {
    "num-envs": ("env", "matches"),
    "env-name": ("env", "name"),
    "game": ("env", "name"),
    "name": ("run", "name"),
    "experiment": ("run", "name"),
    "experiment-name": ("run", "name"),
    "experiments-dir": ("run", "directory"),
    "total-timesteps": ("run", "total_steps"),
    "distributed": ("cluster", "distribute"),
    "num-rollout-steps": ("ppo", "n_steps"),
    "epochs": ("ppo", "n_epochs"),
    "lr": ("ppo", "learning_rate"),
    "ent-coef": ("ppo", "entropy_coef"),
    "vf-coef": ("ppo", "value_coef"),
    "clip-coef": ("ppo", "clip"),
    "grad-accum": ("ppo", "gradient_accumulation"),
}
"""Names that people know from elsewhere, as flags and as keys → the field they mean."""


REWARD_NAMES = {"reward-ko": "win", "reward-death": "lost"}
"""Flags that people know → the term whose weight they are, in games that have it; a game may add its own."""


@cache
def config_model(game: GameType) -> type[Config]:
    """The configuration with this game's own settings inside `env`."""
    own = set(EnvConfig.model_fields) | {"type", "settings", "spec"}
    if clash := own & set(game.config.model_fields):
        raise UserError(
            f"game '{game.name}' has a setting '{min(clash)}', which every game has", "the game must rename it"
        )
    env = type("EnvConfig", (EnvConfig, game.config), {"__module__": __name__, "__doc__": EnvConfig.__doc__})
    return cast(type[Config], create_model("Config", __base__=Config, env=(env, ...)))


@cache
def config_options(game: GameType) -> tuple[list[Option], dict[str, KeyPath]]:
    """Every flag for a run of this game, and its short names."""
    options = list(options_of(config_model(game)))
    rewards = {f"reward-{t.name.replace('_', '-')}": ("reward", "weights", t.name) for t in reward_terms(game)}
    for name, term in (*REWARD_NAMES.items(), *game.tooling.reward_flags):
        if f"reward-{term.replace('_', '-')}" in rewards:
            rewards[name] = ("reward", "weights", term)
    short = short_names([option for option in options if option.path[0] != "coach"])  # `--learning-rate` is PPO's
    names = {**short, **WELL_KNOWN, **rewards}
    return options, {name: path for name, path in names.items() if name not in Config.model_fields}


def load_config(preset: str, flags: Sequence[str], working_directory: Path) -> Config:
    """A preset with flags on top, in two stages: preset or --env.name give the game, the game gives the flags."""
    layer = load_preset(preset, working_directory).renamed(WELL_KNOWN) if preset else Layer()
    game = registry.find(_chosen_game(layer, flags))
    options, aliases = config_options(game)
    old, old_names = old_options()
    given = read_flags(joined_words(flags), [*options, *old], {**old_names, **aliases})
    if given.section("run").get("name") == "":
        raise UserError("run name '' is not usable", "leave --name out, or give one")
    config = read_config(_merged(given.renamed(aliases), layer.renamed(aliases), game))
    name = config.run.name or (_run_name(PurePath(preset)) if preset else game.name)
    known = {
        "name": name,
        "preset": layer.section("run").get("preset", preset),
    }  # a saved config says what it began with
    return config.model_copy(update={"run": config.run.model_copy(update=known)})


def _merged(flags: Layer, preset: Layer, game: GameType) -> Layer:
    """Flags over the preset; options of the earlier trainers and `auto` become what they mean."""
    require_flags(preset)
    whole = flags.over(preset)

    def settings() -> GameConfig:
        own = {key: value for key, value in whole.section("env").items() if key in game.config.model_fields}
        return game.config.model_validate(own)

    def describe() -> GameSpec:
        return game.spec(settings())

    below = translated(preset, whole, describe)
    require_flags(below)
    layer = translated(flags, whole, describe).over(below)
    env, ppo = layer.section("env"), layer.section("ppo")
    steps = ppo.get("n_steps", PpoConfig().n_steps)
    if env.get("matches") == "auto":
        own = {key: value for key, value in env.items() if key in game.config.model_fields}
        elsewhere = game.runs_elsewhere(game.config.model_validate(own))
        chosen = auto_matches(describe(), steps, elsewhere, cores(), free_bytes())
        layer = Layer.of({"env": {"matches": chosen}}, layer.source(("env", "matches"))).over(layer)
    if ppo.get("batch_size") == "auto":
        rows = layer.section("env").get("matches", EnvConfig.model_fields["matches"].default) * steps
        chosen = auto_batch(rows * describe().seats, free_bytes())
        layer = Layer.of({"ppo": {"batch_size": chosen}}, layer.source(("ppo", "batch_size"))).over(layer)
    return layer


def read_config(layer: Layer) -> Config:
    """A layer as a checked configuration. The original's flat form (`learning-rate: 3e-4`) is read too."""
    layer = layer.renamed(WELL_KNOWN)
    env = layer.data.get("env")
    name = env.get("name") if isinstance(env, dict) else None
    if not isinstance(name, str):
        raise UserError("no game is chosen", "give --preset or --game, such as --game connect4 (`pvp-ml game list`)")
    try:
        game = registry.find(name)
    except UserError as error:
        raise UserError(f"{layer.source(('env', 'name'))}: {error.message}", error.hint) from None
    layer = layer.renamed(config_options(game)[1])
    config = read_settings(config_model(game), layer)
    check_names(config, layer)
    check_clocks(config, layer)
    for index in range(len(config.phases)):
        config.in_phase(index)
    return config


def check_names(config: Config, layer: Layer) -> None:
    """Refuse scenarios, heads, reward terms and signals that the game does not have."""
    spec = config.env.spec
    rows: tuple[tuple[KeyPath, Iterable[str], list[str]], ...] = (
        (("env", "scenarios"), config.env.scenarios, [scenario.name for scenario in spec.scenarios]),
        (("ppo", "entropy_by_head"), config.ppo.entropy_by_head, [head.name for head in spec.heads]),
        (("coach", "bot"), filter(None, [config.coach.bot]), list(spec.bots)),
        (("coach", "opponents"), config.coach.opponents, list(spec.bots)),
    )
    for path, names, known in rows:
        for name in sorted(set(names) - set(known)):
            raise UserError(
                f"{layer.source((*path, name))}: {'.'.join(path)}: game '{spec.name}' has no '{name}'",
                f"choose from: {', '.join(known)}",
            )
    try:
        RewardMixer(spec, config.reward)
    except UserError as error:
        raise UserError(f"{layer.source(('reward',))}: reward: {error.message}", error.hint) from None


def check_clocks(config: Config, layer: Layer) -> None:
    """Refuse schedules over the share of the run that is done when the run has no end."""
    path = () if config.run.total_steps else _first_on_run_clock(config.model_dump(mode="json"))
    if path:
        raise UserError(
            f"{layer.source(path)}: {'.'.join(path)} has 'clock: run', but run.total_steps is 0, a run without an end",
            "set run.total_steps, or use 'clock: steps' with change_over_time_steps",
        )


def _first_on_run_clock(data: Any, path: KeyPath = ()) -> KeyPath:
    """Where the first such schedule stands in a config's plain data; empty = nowhere."""
    if isinstance(data, dict):
        if "type" in data and data.get("clock") == "run":
            return path
        inner: Iterable[tuple[Any, Any]] = data.items()
    else:
        inner = enumerate(data) if isinstance(data, list) else ()
    return next((found for key, part in inner if (found := _first_on_run_clock(part, (*path, str(key))))), ())


def _run_name(preset: PurePath) -> str:
    """`config/nh/core.yml` → nh-core; a file from elsewhere gives its own name alone."""
    if preset.is_absolute() or ".." in preset.parts:
        return preset.stem
    parts = preset.parts[1:] if preset.parts[0] in ("config", "presets") else preset.parts
    return "-".join((*parts[:-1], preset.stem if preset.suffix in SUFFIXES else preset.name))


def reward_terms(game: GameType) -> tuple[RewardTerm, ...]:
    """The game's reward terms with its default settings; none when it cannot be described without more."""
    try:
        return game.spec(game.config()).rewards
    except (UserError, ValidationError):
        return ()


def _chosen_game(layer: Layer, flags: Sequence[str]) -> str:
    """The game that the flags or the preset name, before the flags can be read."""
    names = {"--env.name", "--env-name", "--game"}
    for i, word in enumerate(flags):
        flag, given, value = word.partition("=")
        if flag in names and (given or i + 1 < len(flags)):
            return value if given else flags[i + 1]
    env = layer.data.get("env")
    name = env.get("name") if isinstance(env, dict) else None
    if not isinstance(name, str):
        raise UserError("no game is chosen", "give --preset or --game, such as --game connect4 (`pvp-ml game list`)")
    return name
