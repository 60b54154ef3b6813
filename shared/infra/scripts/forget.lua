-- Take rows out of a tenant's memory in one step, unless it has another version than the caller read (-1).
local cases, knowledge, entities, links, ages, todos, memory = unpack(KEYS)
if (redis.call('HGET', memory, 'version') or '0') ~= ARGV[1] then return -1 end

-- A script that fails is not undone, so whatever could fail is asked before anything is written.
for _, list in ipairs({cases, knowledge}) do redis.call('LLEN', list) end
for _, hash in ipairs({entities, links, todos}) do redis.call('HLEN', hash) end
redis.call('ZCARD', ages)

local at = 2
local function each(act, width)
  local count = tonumber(ARGV[at])
  at = at + 1
  for _ = 1, count do
    act(ARGV[at], ARGV[at + 1])
    at = at + width
  end
end

each(function(row) redis.call('LREM', cases, 0, row) end, 1)
each(function(row) redis.call('LREM', knowledge, 0, row) end, 1)
each(function(event) redis.call('HDEL', todos, event) end, 1)
each(function(field)
  redis.call('HDEL', entities, field)
  redis.call('HDEL', links, field)
  redis.call('ZREM', ages, field)
end, 1)
each(function(field, row) redis.call('HSET', entities, field, row) end, 2)
each(function(field, row) redis.call('HSET', links, field, row) end, 2)
redis.call('HINCRBY', memory, 'version', 1)
return 1
