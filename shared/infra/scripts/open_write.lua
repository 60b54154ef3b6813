-- Store the intent of a write before its call, only if it is new or known not to have been sent (I3).
-- Repeated, it finds its own entry.
local lease, signals, turns, ledger, leased = unpack(KEYS)
local owner, fence, key, status, entry, hold_ms, member, unsent = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local known = redis.call('HGET', ledger, key)
local opened = again and known == status .. '\n' .. entry
if known and not opened and string.match(known, '^[^\n]*') ~= unsent then return {'conflict'} end
redis.call('HSET', ledger, key, status .. '\n' .. entry)
local ends = math.max(now_ms() + hold_ms, tonumber(redis.call('HGET', lease, 'until')))
redis.call('HSET', lease, 'until', int(ends))
redis.call('ZADD', leased, int(ends), member)
return pulse(signals, turns)
