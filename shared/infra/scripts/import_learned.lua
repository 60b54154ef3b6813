-- Change what is learned of a tenant as a file says, if it is still what was read: 1 if it was, else 0.
-- KEYS: cases, counts, memory, knowledge, then every other key that may be changed. ARGV: what was read (a digest of the
-- case log, how many events were counted, the memory's version, a digest of the facts; empty where it does not matter),
-- the change's own name, then commands: a word, the place of its key, how many words follow.
local cases, counts, memory, knowledge = unpack(KEYS)
local log, events, version, facts, name = unpack(ARGV)

if again and redis.call('HGET', memory, 'imported') == name then return 1 end

local function is(expected, found) return expected == '' or expected == (found or '0') end
local function digest(list) return redis.sha1hex(table.concat(redis.call('LRANGE', list, 0, -1), '\n')) end
if not is(version, redis.call('HGET', memory, 'version')) then return 0 end
if not is(events, redis.call('HGET', counts, 'events')) then return 0 end
if log ~= '' and log ~= digest(cases) or facts ~= '' and facts ~= digest(knowledge) then return 0 end

local at = 6
while ARGV[at] do
  local command, place, count = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  redis.call(command, KEYS[place], unpack(ARGV, at + 3, at + 2 + count))
  at = at + 3 + count
end
redis.call('HSET', memory, 'imported', name)
redis.call('HINCRBY', memory, 'version', 1)
return 1
