-- Store the intent of a write before its call, only if it is new or may be sent (I3): ``sendable`` lists those statuses.
-- Repeated, it finds its own entry.
local lease, signals, turns, ledger, leased = unpack(KEYS)
local owner, fence, key, status, entry, hold_ms, member, sendable = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local known = redis.call('HGET', ledger, key)
local opened = again and known == status .. '\n' .. entry
local before = known and ' ' .. string.match(known, '^[^\n]*') .. ' '
if known and not opened and not string.find(sendable, before, 1, true) then return {'conflict'} end
redis.call('HSET', ledger, key, status .. '\n' .. entry)
local ends = math.max(now_ms() + hold_ms, tonumber(redis.call('HGET', lease, 'until')))
redis.call('HSET', lease, 'until', int(ends))
redis.call('ZADD', leased, int(ends), member)
return pulse(signals, turns)
