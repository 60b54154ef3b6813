-- Change what is learned of a tenant, if it is still what was read: 1 if it was, else 0.
-- KEYS: cases, counts, memory, knowledge, then every other key that may be changed. ARGV: what was read (a digest of the
-- case log, how many events were counted, the memory's version, a digest of the facts; empty where it does not matter),
-- the change's own name, then commands: a word, the place of its key, how many words follow.
local cases, counts, memory, knowledge = unpack(KEYS)
local log, events, version, facts, name = unpack(ARGV)

if again and redis.call('HGET', memory, 'change') == name then return 1 end

local function is(expected, found) return expected == '' or expected == (found or '0') end
local function digest(list) return redis.sha1hex(table.concat(redis.call('LRANGE', list, 0, -1), '\n')) end
if not is(version, redis.call('HGET', memory, 'version')) then return 0 end
if not is(events, redis.call('HGET', counts, 'events')) then return 0 end
if log ~= '' and log ~= digest(cases) or facts ~= '' and facts ~= digest(knowledge) then return 0 end

local function each(act)
  local at = 6
  while ARGV[at] do
    local last = at + 2 + ARGV[at + 2]
    act(ARGV[at], KEYS[tonumber(ARGV[at + 1])], unpack(ARGV, at + 3, last))
    at = last + 1
  end
end

-- A script that fails is not undone, so whatever could fail is asked before anything is written.
local LENGTHS, emptied = {L = 'LLEN', R = 'LLEN', H = 'HLEN', Z = 'ZCARD'}, {}
each(function(command, key)
  if command == 'DEL' then emptied[key] = true end
  if not emptied[key] then redis.call(LENGTHS[string.sub(command, 1, 1)], key) end
end)
each(redis.call)
redis.call('HSET', memory, 'change', name)
redis.call('HINCRBY', memory, 'version', 1)
return 1
