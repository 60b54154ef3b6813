-- Replace a ledger entry whose status is what the caller believes. Its call is over: the lease is as short as any again,
-- so that nobody waits for a call that is settled, should this owner die.
local lease, signals, turns, ledger, events, leased = unpack(KEYS)
local owner, fence, kept, key, before, status, entry, member, lease_ms = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local known = redis.call('HGET', ledger, key)
if again and known == status .. '\n' .. entry then return pulse(signals, turns) end
if not known or string.match(known, '^[^\n]*') ~= before then return {'conflict'} end
redis.call('HSET', ledger, key, status .. '\n' .. entry)
local ends = int(now_ms() + lease_ms)
redis.call('HSET', lease, 'until', ends)
redis.call('ZADD', leased, ends, member)
emit(events, kept, 10, #ARGV)
return pulse(signals, turns)
