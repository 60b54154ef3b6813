-- Tell one partition whether a tenant is stopped. What is older than what it knows changes nothing.
-- Once the stop is lifted, the tenant's sessions that were put off are looked at again at once.
local stopped, waiting = unpack(KEYS)
local row, members, lifted_seconds = unpack(ARGV)

local known = redis.call('GET', stopped)
if known == row then return 0 end
if known and tonumber(string.match(known, '^%d+')) > tonumber(string.match(row, '^%d+')) then return 0 end
if string.match(row, '\n(.*)$') ~= '' then
  redis.call('SET', stopped, row)
  return 1
end
if not known then return 0 end
redis.call('SET', stopped, row, 'EX', lifted_seconds)
local overdue = put_off_score(-1000)
for _, member in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  if string.sub(member, 1, #members) == members then redis.call('ZADD', waiting, 'XX', overdue, member) end
end
return 1
