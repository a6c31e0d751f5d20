"""What `gossamer robots` has done in a worker process: hostile bytes are not parsed in the program's own."""

import msgspec

from gossamer.parse.coding import decode
from gossamer.rules.robots import RobotsSurvey, survey
from gossamer.rules.robots_parser import MOST_BYTES, Naming


class SurveyJob(msgspec.Struct, frozen=True):
    body: bytes
    agent: str
    naming: Naming = "name"
    codings: str = ""
    """The Content-Encoding it came with."""


def job(payload: bytes) -> bytes:
    """One `SurveyJob` in, one `Survey` out, both as msgpack."""
    asked = _job.decode(payload)
    body = decode(asked.body, asked.codings, 2 * MOST_BYTES).body if asked.codings else asked.body
    return _survey.encode(survey(body, asked.agent, asked.naming))


_job = msgspec.msgpack.Decoder(SurveyJob)
_survey = msgspec.msgpack.Encoder()
answer = msgspec.msgpack.Decoder(RobotsSurvey)
