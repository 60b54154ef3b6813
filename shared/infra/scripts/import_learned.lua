-- Change what is learned of a tenant as a file says, if it is still what was read: 1 if it was, else 0.
-- KEYS: cases, counts, memory, then every key that may be changed. ARGV: what was read (a digest of the case log, how
-- many events were counted, the memory's version), then commands: a word, the place of its key, how many words follow.
local cases, counts, memory = unpack(KEYS)
local digest, events, version = unpack(ARGV)

if (redis.call('HGET', memory, 'version') or '0') ~= version then return 0 end
if (redis.call('HGET', counts, 'events') or '0') ~= events then return 0 end
if redis.sha1hex(table.concat(redis.call('LRANGE', cases, 0, -1), '\n')) ~= digest then return 0 end

local at = 4
while ARGV[at] do
  local command, place, count = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  redis.call(command, KEYS[place], unpack(ARGV, at + 3, at + 2 + count))
  at = at + 3 + count
end
redis.call('HINCRBY', memory, 'version', 1)
return 1
