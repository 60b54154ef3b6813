-- Say that a tenant is stopped, and why, or (with no reason) that it is not; the row as it stands then.
local stops = unpack(KEYS)
local tenant, reason = unpack(ARGV)

local known = redis.call('HGET', stops, tenant)
if known and string.match(known, '\n(.*)$') == reason then return known end
local version = tonumber(string.match(known or '0', '^%d+')) + 1
local row = int(version) .. '\n' .. reason
redis.call('HSET', stops, tenant, row)
return row
