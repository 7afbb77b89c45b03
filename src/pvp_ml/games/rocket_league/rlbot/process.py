"""The process that RLBot starts. The only module that imports rlbot (extra `rlbot`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.rlbot.pilot import Pilot, open_folder


def main(folder: Path) -> None:
    """Check the folder, connect to RLBot's server and play until the match ends."""
    try:
        bot = make_bot(open_folder(folder))
    except UserError as error:
        sys.exit(f"pvp-ml: {error}")
    bot.run(wants_match_communications=False, wants_ball_predictions=False)


def make_bot(pilot: Pilot, agent_id: str = "pvp-ml/bot") -> Any:
    """RLBot's Bot with this pilot; RLBOT_AGENT_ID wins over `agent_id`."""
    try:
        from rlbot.flat import ControllerState, GamePacket
        from rlbot.managers import Bot
    except ImportError as error:
        raise UserError(f"the bot needs '{error.name}'", 'install it with: pip install "pvp-ml[rlbot]"') from error

    class PolicyBot(Bot):  # type: ignore[misc]
        """Asks the pilot once a packet."""

        def initialize(self) -> None:
            pilot.use_pads([(pad.location.x, pad.location.y) for pad in self.field_info.boost_pads])
            pilot.forget()

        def get_output(self, packet: GamePacket) -> ControllerState:
            throttle, steer, pitch, yaw, roll, jump, boost, handbrake = pilot.drive(packet, self.index)
            return ControllerState(
                throttle=throttle,
                steer=steer,
                pitch=pitch,
                yaw=yaw,
                roll=roll,
                jump=jump > 0.5,
                boost=boost > 0.5,
                handbrake=handbrake > 0.5,
            )

    return PolicyBot(agent_id)
