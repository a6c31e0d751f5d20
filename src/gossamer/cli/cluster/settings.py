"""`gossamer cluster settings`: lists or changes the settings of a cluster."""

import asyncio
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.crawl.config import print_settings
from gossamer.cli.flags import ClusterAddress, Json
from gossamer.collection.cluster.settings import set_setting, unset_setting
from gossamer.collection.directory import existing
from gossamer.config.load import without_password
from gossamer.store.options import config_of
from gossamer.values.format import as_json

LATER = "Nodes follow within seconds."


def settings(
    address: ClusterAddress,
    action: Annotated[Literal["show", "set", "unset"], Parameter(help="The action; show if not given.")] = "show",
    name: Annotated[str | None, Parameter(help="The setting, such as politeness.delay_s.")] = None,
    value: Annotated[
        str | None, Parameter(allow_leading_hyphen=True, help="Its value; of several, with commas between them.")
    ] = None,
    *,
    json: Json = False,
) -> int:
    directory, outside = existing(address), real_outside()
    if action == "show":
        if name is not None:
            raise ConfigError(
                f"show lists all settings; to change one: gossamer cluster settings ADDRESS set {name} VALUE"
            )
        print_settings(config_of(address), address, json)
        return 0
    if name is None or (action == "set") != (value is not None):
        example = "set politeness.delay_s 2" if action == "set" else "unset politeness.delay_s"
        raise ConfigError(
            f"name the setting{' and its value' if action == 'set' else ''}: "
            f"gossamer cluster settings ADDRESS {example}"
        )
    if action == "set":
        asyncio.run(set_setting(directory, name, value or "", outside))
    else:
        asyncio.run(unset_setting(directory, name, outside))
    loaded = config_of(address)
    now, origin = without_password(loaded.value(name)), loaded.origins[name]
    print(as_json({name: {"value": now, "origin": origin}}) if json else f"{name} is {now}, from: {origin}. {LATER}")
    return 0
