-- A webhook, its task and the events after those that it was told, as they stand together. Reads only.
local push, record, events = unpack(KEYS)
local member, most = unpack(ARGV)

local known = redis.call('HGET', push, member)
local json = redis.call('HGET', record, 'json')
if not known or not json then return false end
local cursor = string.match(known, '^[^\n]*\n([^\n]*)\n')
return {known, json, redis.call('XRANGE', events, '(' .. cursor, '+', 'COUNT', most)}
