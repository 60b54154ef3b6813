-- Replace a tenant's case log by one that was merged from it, and remember the object that brought the new cases.
-- Replies 'known' if that version of the object was loaded, 'changed' if the log is not any more what was merged.
local cases, seeded = unpack(KEYS)
local digest, object, version, told = unpack(ARGV)

local known = redis.call('HGET', seeded, object)
if again and known == version .. '\n' .. told then return 'kept' end
if known and string.match(known, '^(.-)\n') == version then return 'known' end
if redis.sha1hex(table.concat(redis.call('LRANGE', cases, 0, -1), '\n')) ~= digest then return 'changed' end

redis.call('HSET', seeded, object, version .. '\n' .. told)
redis.call('DEL', cases)
if #ARGV > 4 then redis.call('RPUSH', cases, unpack(ARGV, 5)) end
return 'kept'
