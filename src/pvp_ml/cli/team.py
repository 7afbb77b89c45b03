"""`pvp-ml team`: the commands of the game that has teams."""

from pvp_ml.games import registry

app = registry.ability(lambda tools: tools.team_commands, "teams")()
