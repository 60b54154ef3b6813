-- Store what an event's facts change, and take it from what is still to be done, in one step. Nothing is written if it
-- was done or forgotten (0), or if the tenant's memory has another version than the caller read (-1). What changes no
-- fact ('' as the version) fits any version, and leaves it.
local knowledge, todos, memory = unpack(KEYS)
local event, version, most, gone_count, come_count = unpack(ARGV)

if redis.call('HEXISTS', todos, event) == 0 then return 0 end
local names, counts, first = {'version'}, {}, 6 + gone_count + come_count
for at = first, #ARGV, 2 do names[#names + 1] = ARGV[at] end
local had = redis.call('HMGET', memory, unpack(names))
if version ~= '' and (had[1] or '0') ~= version then return -1 end

if gone_count + come_count > 0 then redis.call('LLEN', knowledge) end  -- before anything is written: it could fail
if version ~= '' then counts = {'version', version + 1} end
for n = 2, #names do
  local count = had[n] or '0'
  if not string.match(count, '^%d+$') then return redis.error_reply('a count is not an integer') end
  counts[#counts + 1], counts[#counts + 2] = names[n], int(count + ARGV[first + 2 * n - 3])
end

for at = 6, 5 + gone_count do redis.call('LREM', knowledge, 1, ARGV[at]) end
call_with('LPUSH', knowledge, {unpack(ARGV, 6 + gone_count, first - 1)})
if come_count ~= '0' then redis.call('LTRIM', knowledge, 0, most - 1) end
redis.call('HDEL', todos, event)
if #counts > 0 then redis.call('HSET', memory, unpack(counts)) end
return 1
