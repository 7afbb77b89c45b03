"""Options of the three earlier trainers (`--self-play-percent 0.8`, `N_PROC_TRAIN: 64`), read as what they mean here.

`docs/coming-from.md` lists all of them beside the settings that they become; a test compares both forms row by row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pvp_ml.compat.game_options import env_kwargs, forbidden, noise, remote
from pvp_ml.compat.network_options import NETWORKS, is_old_critic, old_critic
from pvp_ml.compat.reward_options import FOOD_SWITCH, REWARDS, food_switch, reward_settings, without_food_switch
from pvp_ml.documents.strict_yaml import read_yaml
from pvp_ml.errors import UserError
from pvp_ml.run.config.flags import Option
from pvp_ml.run.config.presets import KeyPath, Layer, nest
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """Everything that preset and flags say, options of the earlier trainers under their own names, and the game."""

    data: Mapping[str, Any]
    describe: Callable[[], GameSpec]

    @property
    def spec(self) -> GameSpec:
        """The game as configured."""
        return self.describe()

    def old(self, name: str, default: Any = None) -> Any:
        """Another option of an earlier trainer."""
        if name == FOOD_SWITCH and isinstance(switch := food_switch(self.data), bool):
            return switch
        return next((value for key, value in self.data.items() if plain(key) == name), default)

    def setting(self, section: str, key: str, default: Any) -> Any:
        """A setting of ours."""
        found = self.data.get(section)
        return found.get(key, default) if isinstance(found, Mapping) else default

    @property
    def rollout(self) -> int:
        """Environment steps of a rollout."""
        return int(self.setting("env", "matches", 128)) * int(self.setting("ppo", "n_steps", 32))


Turn = Callable[[Any, Given], Settings]


def plain(name: str) -> str:
    """`N_PROC_TRAIN` and `n_proc_train` are `n-proc-train`."""
    return name.lower().replace("_", "-")


def _to(*path: str) -> Turn:
    return lambda value, given: nest(path, value)


def _unneeded(why: str) -> Turn:
    def turn(value: Any, given: Given) -> Settings:
        log.debug("an option of the original is not needed here: %s", why)
        return {}

    return turn


def _only(accepted: Sequence[Any], why: str, instead: str) -> Turn:
    """Accept the values that change nothing, refuse the others with the way it is done here."""

    def turn(value: Any, given: Given) -> Settings:
        if value not in accepted:
            raise UserError(why, instead)
        return {}

    return turn


def _frames(value: Any, given: Given) -> Settings:
    if isinstance(value, str):
        value = [int(part) for part in value.split(",")]
    return nest(("network", "frames"), sorted(value) if isinstance(value, list) else list(range(int(value))))


SHARES = ("self", "past", "target", "latest")


def _share(value: Any, given: Given) -> Settings:
    """All shares together, since the rest of 1 plays the game's bot."""
    shares = {name: given.old(f"{name}-self-play-percent".replace("self-self", "self"), None) for name in SHARES}
    shares["self"] = 1.0 if shares["self"] is None else shares["self"]
    known = given.setting("self_play", "opponents", {})
    numbers = [share or 0.0 for share in shares.values() if not isinstance(share, Mapping)]
    rest = round(1.0 - sum(float(number) for number in numbers), 9)
    if rest < 0.0:
        raise UserError(f"the shares of opponents sum to {1.0 - rest:g}", "they may sum to at most 1")
    if rest > 0.0 and len(numbers) == len(SHARES) and given.spec.bots:
        shares[given.spec.bots[0]] = rest
    opponents: Settings = {}
    for name, share in shares.items():
        if share or name in known:
            opponents[name] = {"share": 0.0 if share is None else share, **_handicaps(name, given)}
    return nest(("self_play", "opponents"), opponents)


def _handicaps(name: str, given: Given) -> Settings:
    """Delay, greediness and models of one kind of opponent, as far as they are given."""
    found = {
        "delay": given.old(f"{name}-self-play-delay-chance"),
        "greedy": given.old(f"{name}-self-play-deterministic-percent"),
        "run": given.old(f"{name}-self-play-experiment"),
        "models": given.old("target") if name == "target" else None,
    }
    if isinstance(found["models"], str):
        found["models"] = [found["models"]]
    return {key: value for key, value in found.items() if value is not None}


def _handicap(name: str) -> Turn:
    def turn(value: Any, given: Given) -> Settings:
        known = given.setting("self_play", "opponents", {}).get(name)
        if given.old(f"{name}-self-play-percent") is None and known is None:
            raise UserError(f"there is no share of '{name}' opponents", f"give --{name}-self-play-percent too")
        share = {} if known is None or (isinstance(known, Mapping) and "type" not in known) else {"share": known}
        return nest(("self_play", "opponents", name), share | _handicaps(name, given))

    return turn


def _exploiters(kind: str) -> Turn:
    def turn(value: Any, given: Given) -> Settings:
        if not given.old(f"train-{kind}-exploiter", False):
            return {}
        exploiter: Settings = {"against": kind}
        if delay := given.old(f"{kind}-exploiter-delay", 0):
            exploiter["share"] = {"type": "jump", "jumps": {0: 0.0, int(delay): 0.2}}
        count = int(given.old(f"num-{kind}-exploiters", 1))
        return nest(("self_play", "exploiters"), {f"{kind}-exploiter-{k + 1}": exploiter for k in range(count)})

    return turn


def _evaluation(value: Any, given: Given) -> Settings:
    if not value:
        return {"eval": {"every": 0}}
    bots = {"opponents": [given.spec.bots[0]]} if given.spec.bots else {}
    return {"eval": {"every": given.rollout, "matches": int(value), **bots}}


def _distributed(value: Any, given: Given) -> Settings:
    """Through Ray if asked for: with so many workers, or with as many as there are cores."""
    if not given.old("distributed-rollouts", False):
        return {}
    return nest(("cluster", "distribute"), int(given.old("num-distributed-rollouts", 0)) or True)


def _minibatches(value: Any, given: Given) -> Settings:
    return nest(("ppo", "batch_size"), max(1, given.rollout * given.spec.seats // int(value)))


def _buffer(value: Any, given: Given) -> Settings:
    """Steps that each worker collects; here they are spread over the matches."""
    workers = int(given.old("num-workers", given.setting("run", "shards", 1)) or 1)
    return nest(("ppo", "n_steps"), max(1, int(value) * workers // int(given.setting("env", "matches", 128))))


def _debug(topics: list[str]) -> Turn:
    return lambda value, given: nest(("tracking", "debug"), topics) if value else {}


def _critic_sizes(value: Any, given: Given) -> Settings:
    return {"network": {"critic": "separate", "critic_trunk": value}}


_PLAYED_HERE = "opponents are played inside the shards"
_NO_OVERRIDE = "both sides of a match have the same settings here"
_SCENARIOS = "use env.scenarios, or settings of the game"

TRAINER: dict[str, Turn] = {
    "experiment-description": _to("run", "description"),
    "continue-training": _unneeded("a run of the same name always resumes"),
    "allow-cleanup": _unneeded("nothing is overwritten; `pvp-ml jobs remove NAME` deletes a run"),
    "train-rollouts": _to("run", "session_rollouts"),
    "checkpoint-frequency": lambda value, given: nest(("run", "checkpoint_every"), int(value) * given.rollout),
    "optimize-old-models": _unneeded("run.keep_checkpoints says how many stay"),
    "save-latest-buffer": _unneeded("shards share memory, nothing is written for them"),
    "save-latest-meta": _unneeded("shards share memory, nothing is written for them"),
    "enable-tracking-histograms": _to("tracking", "histograms"),
    "add-win-rate-extension": _to("network", "win_head"),
    "stack-frames": _frames,
    "env-kwargs": env_kwargs,
    "remote-env-host": remote,
    "remote-env-port": remote,
    "action-mask-override": forbidden,
    "noise-generator": noise,
    "eps-greedy": _to("ppo", "greedy_chance"),
    "self-play-percent": _share,
    "past-self-play-percent": _share,
    "target-self-play-percent": _share,
    "latest-self-play-percent": _share,
    "past-self-play-learning-rate": _to("self_play", "quality_learning_rate"),
    "past-self-play-delay-chance": _handicap("past"),
    "past-self-play-deterministic-percent": _handicap("past"),
    "past-self-play-experiment": _handicap("past"),
    "add-past-self-play-league-targets": lambda value, given: {} if value else {"self_play": {"snapshot_every": 0}},
    "past-self-override-env-kwargs": _only((None, {}), _NO_OVERRIDE, _SCENARIOS),
    "target": _handicap("target"),
    "target-self-play-deterministic-percent": _handicap("target"),
    "latest-self-play-experiment": _handicap("latest"),
    "latest-self-play-delay-chance": _handicap("latest"),
    "latest-self-play-deterministic-percent": _handicap("latest"),
    "latest-self-override-env-kwargs": _only((None, {}), _NO_OVERRIDE, _SCENARIOS),
    "train-main-exploiter": _exploiters("main"),
    "train-league-exploiter": _exploiters("league"),
    "num-main-exploiters": _exploiters("main"),
    "num-league-exploiters": _exploiters("league"),
    "main-exploiter-delay": _exploiters("main"),
    "league-exploiter-delay": _exploiters("league"),
    "main-exploiter-preset": _unneeded("an exploiter learns with the settings of its run"),
    "league-exploiter-preset": _unneeded("an exploiter learns with the settings of its run"),
    "forward-distribution-to-exploiters": _unneeded("exploiters learn in the same shards as the main trainee"),
    "num-eval-agent": _evaluation,
    "eval-deterministic-percent": lambda value, given: {"eval": {"greedy": bool(value)}},
    "eval-override-env-kwargs": _only((None, {}), _NO_OVERRIDE, "use `pvp-ml eval` with the game's settings as flags"),
    "num-reference-rating-envs": _unneeded("eval.references names models and their ratings"),
    "novelty-reward-scale": _to("ppo", "novelty_coef"),
    "remote-processor-type": _unneeded(_PLAYED_HERE),
    "remote-processor-pool-size": _unneeded(_PLAYED_HERE),
    "remote-processor-device": _unneeded(_PLAYED_HERE),
    "remote-processor-kwargs": _unneeded(_PLAYED_HERE),
    "distributed-rollouts": _distributed,
    "distributed-rollout-preset": _unneeded("every machine gets the settings of this run"),
    "num-distributed-rollouts": _distributed,
    "num-cpus-per-rollout": _unneeded("a shard takes one core"),
    "id": _unneeded("a run needs no ports"),
    "wait": _unneeded("training runs in the foreground unless it is detached"),
    "log": _unneeded("a run in the foreground shows itself; `pvp-ml jobs logs NAME --follow` shows a detached one"),
    "validate": _unneeded("everything is checked before anything is written"),
    "skip-rsps": _unneeded("the fights are built in"),
}  # fmt: skip
"""The NH trainer and its job runner."""

VGC: dict[str, Turn] = {
    "num-workers": _to("run", "shards"),
    "battle-format": _to("env", "format"),
    "buffer-size": _buffer,
    "checkpoint-dir": _to("run", "directory"),
    "ppo-epochs": _to("ppo", "n_epochs"),
    "num-minibatches": _minibatches,
}
"""The VGC trainer."""

ROCKET_LEAGUE: dict[str, Turn] = {
    "n-proc-train": _to("env", "matches"),
    "save-every": _to("run", "checkpoint_every"),
    "policy-layer-sizes": _to("network", "trunk"),
    "critic-layer-sizes": _critic_sizes,
    "policy-learning-rate": _to("ppo", "learning_rate"),
    "selfplay-enabled": lambda value, given: {"self_play": {"strategy": "frozen" if value else "pure"}},
    "milestone-interval": _to("run", "milestone_every"),
    "selfplay-sync-interval": _to("self_play", "snapshot_every"),
    "ts-per-iteration": lambda value, given: nest(
        ("ppo", "n_steps"), max(1, int(value) // int(given.setting("env", "matches", 128)))
    ),
    "ppo-batch-size": _unneeded("a rollout is learned from as a whole"),
    "ppo-minibatch-size": _to("ppo", "batch_size"),
    "ppo-ent-coef": _to("ppo", "entropy_coef"),
    "ppo-clip-range": _to("ppo", "clip"),
    "timestep-limit": _to("run", "total_steps"),
    "log-to-wandb": lambda value, given: nest(("tracking", "wandb"), "pvp-ml") if value else {},
    "global-debug-mode": _debug(["actions", "rewards", "resets", "learning", "checkpoints"]),
    "debug-actions": _debug(["actions"]),
    "debug-rewards": _debug(["rewards"]),
    "debug-learning": _debug(["learning"]),
    "debug-checkpoints": _debug(["checkpoints"]),
    "debug-turtled-start": _debug(["resets"]),
    "phase": _only(
        (),
        "a run moves through its phases by itself",
        "start at one with its preset: `pvp-ml config list` shows a preset per phase",
    ),
    "start-fresh": _only((False,), "a run of the same name always resumes", "choose another --name to start over"),
    "custom-ckpt-path": _only(
        ("", None), "a checkpoint is a choice of one start, not a setting", "give --resume FOLDER"
    ),
}
"""The Rocket League learner: constants in its file, written in capitals there."""

OLD: dict[str, Turn] = {**TRAINER, **VGC, **ROCKET_LEAGUE, **NETWORKS}
SWITCHES = {
    "continue-training", "allow-cleanup", "optimize-old-models", "save-latest-buffer", "save-latest-meta",
    "enable-tracking-histograms", "add-win-rate-extension", "add-past-self-play-league-targets", "train-main-exploiter",
    "train-league-exploiter", "forward-distribution-to-exploiters", "distributed-rollouts", "wait", "log", "validate",
    "skip-rsps", "selfplay-enabled", "log-to-wandb", "global-debug-mode", "debug-actions", "debug-rewards",
    "debug-learning", "debug-checkpoints", "debug-turtled-start", "include-target-obs-in-critic",
    "share-feature-extractor", "reward-heals", "penalize-target-heals", "penalize-wasted-food",
    "penalize-food-on-death", "reward-target-food-on-death", "reward-on-damage-generated",
}  # fmt: skip
NAMES = frozenset(OLD) | REWARDS


def old_options() -> tuple[list[Option], dict[str, KeyPath]]:
    """Old options as flags: each becomes a key of its own name, which `translated` turns into settings."""
    options = [Option((name,), "value", None, "", is_switch=name in SWITCHES) for name in sorted(NAMES)]
    return options, {option.path[0]: option.path for option in options}


def joined_words(flags: Sequence[str]) -> list[str]:
    """`--override` is only a mark; a `--target` that is given several times becomes one list."""
    words = [word for word in flags if word != "--override"]
    targets = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "--target"]
    if len(targets) < 2:
        return words
    kept = [w for i, w in enumerate(words) if w != "--target" and (i == 0 or words[i - 1] != "--target")]
    return [*kept, "--target", f"[{', '.join(targets)}]"]


def translated(layer: Layer, whole: Layer, describe: Callable[[], GameSpec]) -> Layer:
    """The layer with every old option replaced by what it means; `whole` is all that was given anywhere."""
    given = Given(whole.data, describe)
    rest = {k: v for k, v in without_food_switch(layer.data).items() if plain(k) not in NAMES}
    result = Layer(rest, dict(layer.origin))
    network = layer.data.get("network")
    if isinstance(network, Mapping) and is_old_critic(network.get("critic")):
        rest = {key: value for key, value in network.items() if key != "critic"}
        settings = {"network": rest | old_critic(network["critic"], given.old("feature-extractor"))}
        result = Layer({**result.data, **settings}, result.origin)
    stopping = layer.section("run").get("early_stopping")
    if isinstance(stopping, Mapping) or (isinstance(stopping, str) and stopping.startswith("{")):
        rule = read_yaml(stopping) if isinstance(stopping, str) else stopping
        result = Layer.of({"run": {"early_stopping": rule.get("expression")}}, "early-stopping").over(result)
    for key, value in layer.data.items():
        name = plain(key)
        if name in OLD:
            try:
                settings = OLD[name](value, given)
            except (TypeError, ValueError, AttributeError, KeyError) as error:  # another shape than it ever had
                shown = " ".join(repr(value).split())[:60]
                raise UserError(
                    f"{layer.source((key,))}: {name} = {shown} is not what it was", "see docs/coming-from.md"
                ) from error
        elif name in REWARDS:
            settings = reward_settings(name, given.old, bool(without_food_switch(whole.data).get("reward")))
        else:
            continue
        result = Layer.of(settings, layer.source((key,))).over(result)
    return result
