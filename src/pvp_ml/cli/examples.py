"""The examples at the end of `pvp-ml COMMAND --help`. Lines fit into 80 columns."""

EXAMPLES = {
    "train": """Examples:
  pvp-ml train --preset nh/quick --name first         two minutes on two cores
  pvp-ml train --preset nh/core --name long --detach  in the background
  pvp-ml train --game connect4 --name mine --learning-rate 3e-4

Most used settings (`pvp-ml config options` lists all):
  --name TEXT                folder under experiments/; the same name resumes
  --total-timesteps N        environment steps to train for
  --max-seconds N            or seconds to train for
  --num-envs N               parallel matches, or `auto`
  --learning-rate X          a number or a schedule
  --ent-coef X               entropy bonus: higher explores more
  --gamma X                  discount per decision
  --trunk "[128, 128]"       layers of the network
  --self-play.strategy NAME  opponents: pure, past, frozen, …
  --eval.every N             steps between evaluations
  --shards N                 worker processes; default: one per core""",
    "advise": """Example:
  pvp-ml advise vgc --battle battle.log --ms 2000""",
    "demo": """Examples:
  pvp-ml demo
  pvp-ml demo --game connect4 --seconds 30""",
    "tensorboard": """Examples:
  pvp-ml tensorboard
  pvp-ml tensorboard --stop""",
    "replay": """Examples:
  pvp-ml watch nh --save fight.replay
  pvp-ml replay show fight.replay""",
    "ui": """Examples:
  pvp-ml ui
  pvp-ml ui --port 9000 --no-open""",
    "team": """Examples:
  pvp-ml team check my-team.txt
  pvp-ml team show my-team.txt""",
    "bc": """Examples:
  pvp-ml bc record nh-plugin --game nh --out plugin.zip
  pvp-ml bc train --preset nh/core --recording plugin.zip --out clone.zip
  pvp-ml train --preset nh/core --name better --bc-model clone.zip""",
    "sim-server": """Example:
  pvp-ml sim-server --port 7070""",
    "obs": """Example:
  pvp-ml obs check bot.jsonl --game nh""",
    "doctor": """Examples:
  pvp-ml doctor
  pvp-ml doctor --json""",
    "eval": """Examples:
  pvp-ml eval --model experiments/first/model.zip
  pvp-ml eval --model GeneralizedNh --against FineTunedNh nh-bot --matches 1000
  pvp-ml eval --model tactician --against random --game connect4 --json""",
    "jobs": """Examples:
  pvp-ml jobs list
  pvp-ml jobs logs first --follow
  pvp-ml jobs stop first""",
    "watch": """Examples:
  pvp-ml watch nh
  pvp-ml watch connect4 --model experiments/first/model.zip""",
    "league": """Examples:
  pvp-ml league show first
  pvp-ml league rate --models GeneralizedNh FineTunedNh nh-bot""",
    "exploit": """Example:
  pvp-ml exploit GeneralizedNh --budget 2000000""",
    "compare": """Example:
  pvp-ml compare first second --png curves.png""",
    "sweep": """Example:
  pvp-ml sweep nh.yml --name search --seconds 1800 --png search.png""",
    "play": """Examples:
  pvp-ml play nh
  pvp-ml play connect4 --against tactician --text""",
    "game": """Examples:
  pvp-ml game list
  pvp-ml game show nh
  pvp-ml game setup vgc""",
    "model": """Examples:
  pvp-ml model list
  pvp-ml model inspect GeneralizedNh
  pvp-ml model verify experiments/first/model.zip""",
    "serve": """Example:
  pvp-ml serve --model GeneralizedNh --port 9999""",
    "config": """Examples:
  pvp-ml config list
  pvp-ml config show --preset nh/quick
  pvp-ml config diff nh/quick nh/core""",
    "bench": """Examples:
  pvp-ml bench sim --game nh
  pvp-ml bench train --preset nh/quick""",
}
