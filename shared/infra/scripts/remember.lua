-- Remember what some events of a tenant say, each once: entities, what they stood with, predictions, and of which facts
-- are to be found. Nothing is written (-1) if one of the events is known, or if the tenant's memory has another version
-- than the caller read. Entities that nobody has named for long, or that are too many, leave in the same step.
local remembered, entities, links, ages, accuracy, todos, memory = unpack(KEYS)
local version, known_ms, most, expiry_ms, todos_most, event_count, seen_count, tried_count = unpack(ARGV, 1, 8)

local events, wanted = {}, {}
local at = 9
for n = 1, event_count do
  events[n], wanted[n] = ARGV[at], ARGV[at + 1]
  at = at + 2
end
for _, known in ipairs(redis.call('ZMSCORE', remembered, unpack(events))) do
  if known then return -1 end
end
if (redis.call('HGET', memory, 'version') or '0') ~= version then return -1 end
-- A script that fails is not undone, so whatever could fail is asked before anything is written.
for _, hash in ipairs({entities, links, accuracy, todos}) do redis.call('HLEN', hash) end
redis.call('ZCARD', ages)

local now = now_ms()
for _ = 1, seen_count do
  local field, row, linked = unpack(ARGV, at, at + 2)
  redis.call('HSET', entities, field, row)
  redis.call('HSET', links, field, linked)
  redis.call('ZADD', ages, int(now), field)
  at = at + 3
end
for _ = 1, tried_count do
  redis.call('HSET', accuracy, ARGV[at], ARGV[at + 1])
  at = at + 2
end
local gone = redis.call('ZRANGEBYSCORE', ages, '-inf', int(now - expiry_ms))
local over = redis.call('ZCARD', ages) - #gone - most
if over > 0 then
  for _, field in ipairs(redis.call('ZRANGE', ages, #gone, #gone + over - 1)) do gone[#gone + 1] = field end
end
for _, field in ipairs(gone) do
  redis.call('HDEL', entities, field)
  redis.call('HDEL', links, field)
  redis.call('ZREM', ages, field)
end
local given_up = 0
for n, event in ipairs(events) do
  redis.call('ZADD', remembered, int(now), event)
  if wanted[n] ~= '' then
    if redis.call('HLEN', todos) < tonumber(todos_most) then
      redis.call('HSET', todos, event, wanted[n])
    else
      given_up = given_up + 1
    end
  end
end
redis.call('ZREMRANGEBYSCORE', remembered, '-inf', int(now - known_ms))
if given_up > 0 then redis.call('HINCRBY', memory, 'facts_given_up', given_up) end
redis.call('HINCRBY', memory, 'version', 1)
return 1
