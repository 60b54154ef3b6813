-- Store what an event's facts change, and take it from what is still to be done, in one step. Nothing is written if it
-- was done or forgotten (0), or if the tenant's memory has another version than the caller read (-1).
local knowledge, todos, memory = unpack(KEYS)
local event, version, most, gone_count, come_count = unpack(ARGV)

if redis.call('HEXISTS', todos, event) == 0 then return 0 end
if (redis.call('HGET', memory, 'version') or '0') ~= version then return -1 end

redis.call('LLEN', knowledge)  -- whatever could fail is asked before anything is written
local at = 6
for _ = 1, gone_count do
  redis.call('LREM', knowledge, 1, ARGV[at])
  at = at + 1
end
for _ = 1, come_count do
  redis.call('LPUSH', knowledge, ARGV[at])
  at = at + 1
end
redis.call('LTRIM', knowledge, 0, most - 1)
redis.call('HDEL', todos, event)
while ARGV[at] do
  redis.call('HINCRBY', memory, ARGV[at], ARGV[at + 1])
  at = at + 2
end
redis.call('HINCRBY', memory, 'version', 1)
return 1
