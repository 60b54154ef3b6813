"""What each tenant spends in a day, on Redis."""

from collections.abc import Sequence

from shared.infra import keys
from shared.infra.lua import Argument, Reply, ScriptedStore, Scripts
from shared.ports.daily_spend import Charge, DailySpend, DayCaps

_NO_CAP = -1  # what the script takes for a cap of None


class RedisSpend(ScriptedStore, DailySpend):
    async def reserve(
        self, tenant: str, day: str, charge: Charge, caps: DayCaps, settled: Sequence[Charge] = ()
    ) -> bool:
        limits = [_NO_CAP if cap is None else cap for cap in (caps.tokens, caps.nanos)]
        arguments: list[Argument] = [*limits, charge.name, charge.tokens, charge.nanos]
        return await _run_spend_script(self._scripts, tenant, day, [*arguments, *build_charge_arguments(settled)]) == 1

    async def settle_charges(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        await settle_day_charges(self._scripts, tenant, day, charges)


async def settle_day_charges(scripts: Scripts, tenant: str, day: str, charges: Sequence[Charge]) -> None:
    """Counts what calls cost on a day (YYYY-MM-DD) of the tenant. Raises ``StoreUnavailable``; may be repeated."""
    await _run_spend_script(scripts, tenant, day, [_NO_CAP, _NO_CAP, "", 0, 0, *build_charge_arguments(charges)])


async def _run_spend_script(scripts: Scripts, tenant: str, day: str, arguments: Sequence[Argument]) -> Reply:
    return await scripts.run("spend", [keys.spend_key(tenant, day)], [keys.SPEND_RETENTION_SECONDS, *arguments])


def build_charge_arguments(charges: Sequence[Charge]) -> list[Argument]:
    """The charges as arguments of the spending scripts."""
    return [part for charge in charges for part in (*charge[:3], int(charge.is_reserved))]
