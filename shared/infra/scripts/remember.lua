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
local rows, linked, seen = {}, {}, {}
for i = 1, 2 * seen_count, 2 do
  local field = ARGV[at]
  rows[i], rows[i + 1] = field, ARGV[at + 1]
  linked[i], linked[i + 1] = field, ARGV[at + 2]
  seen[i], seen[i + 1] = int(now), field
  at = at + 3
end
call_with('HSET', entities, rows)
call_with('HSET', links, linked)
call_with('ZADD', ages, seen)
call_with('HSET', accuracy, {unpack(ARGV, at, at + 2 * tried_count - 1)})
local gone = redis.call('ZRANGEBYSCORE', ages, '-inf', int(now - expiry_ms))
local over = redis.call('ZCARD', ages) - #gone - most
if over > 0 then
  for _, field in ipairs(redis.call('ZRANGE', ages, #gone, #gone + over - 1)) do gone[#gone + 1] = field end
end
call_with('HDEL', entities, gone)
call_with('HDEL', links, gone)
call_with('ZREM', ages, gone)
local known, to_find, room, given_up = {}, {}, todos_most - redis.call('HLEN', todos), 0
for n, event in ipairs(events) do
  known[#known + 1], known[#known + 2] = int(now), event
  if wanted[n] ~= '' then
    if #to_find < 2 * room then
      to_find[#to_find + 1], to_find[#to_find + 2] = event, wanted[n]
    else
      given_up = given_up + 1
    end
  end
end
call_with('ZADD', remembered, known)
call_with('HSET', todos, to_find)
redis.call('ZREMRANGEBYSCORE', remembered, '-inf', int(now - known_ms))
if given_up > 0 then redis.call('HINCRBY', memory, 'facts_given_up', given_up) end
redis.call('HINCRBY', memory, 'version', 1)
return 1
