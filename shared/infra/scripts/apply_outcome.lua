-- Learn from one outcome, once: its id, its arm, its case and the counts, in one step. 0 if it was known.
local applied, arms, cases, counts = unpack(KEYS)
local event, known_ms, pulls, sum, units, entry, cap, outcome = unpack(ARGV)

if redis.call('ZSCORE', applied, event) then return 0 end
-- A script that fails is not undone, so whatever could fail is asked before anything is written.
redis.call('LLEN', cases)
local numbers = redis.call('HMGET', counts, 'events', 'quality_units', outcome)
for _, number in ipairs(redis.call('HMGET', arms, pulls, sum)) do numbers[#numbers + 1] = number end
for _, number in ipairs(numbers) do
  if number and not string.match(number, '^%d+$') then return redis.error_reply('a count is not an integer') end
end

local now = now_ms()
redis.call('ZADD', applied, int(now), event)
redis.call('ZREMRANGEBYSCORE', applied, '-inf', int(now - known_ms))
if pulls ~= '' then
  redis.call('HINCRBY', arms, pulls, 1)
  redis.call('HINCRBY', arms, sum, units)
end
redis.call('LPUSH', cases, entry)
redis.call('LTRIM', cases, 0, cap - 1)
redis.call('HINCRBY', counts, 'events', 1)
redis.call('HINCRBY', counts, outcome, 1)
redis.call('HINCRBY', counts, 'quality_units', units)
return 1
