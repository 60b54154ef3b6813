-- Put wakes into arq's queue, one for each session however often it is woken, and ring for each that was not there;
-- replies with those. Tenants take turns: arq takes the jobs with the lowest scores first, and a score here is a place
-- in start-time fair queueing, far below any moment. A tenant's next place is one behind its last, or one behind the
-- head of the queue if its last has been passed. Who was begun before goes before all.
-- A session whose wake some executor holds just now gets a new place, so that ``end_wake`` leaves that one standing. One
-- that stands further behind is moved to the head once its work was begun, as it is where its executor died.
local queue, places, taken, bell = unpack(KEYS)
local unattended, begun, rings, job_ms, places_ms = ARGV[1] == '1', ARGV[2] == '1', ARGV[3], ARGV[4], ARGV[5]
local job_prefix, claim_prefix, middle = ARGV[6], ARGV[7], 500000000

local now, put, rung = now_ms(), {}, 0
for i = 8, #ARGV, 2 do
  local id, job = ARGV[i], ARGV[i + 1]
  local own = redis.call('ZSCORE', queue, id)
  local stands = own and redis.call('EXISTS', claim_prefix .. id) == 0
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2]
  if begun and stands and tonumber(own) > tonumber(head) then
    redis.call('ZADD', queue, 'XX', int(math.max(1, head - 1)), id)
    rung = redis.call('RPUSH', bell, '1')
  end
  local attended = unattended and (own or tonumber(redis.call('ZSCORE', taken, id) or '0') > now)
  if not stands and not attended then
    local tenant = string.match(id, '^[^:]*')
    if not head then redis.call('DEL', places) end
    local place = tonumber(head or middle)
    if begun then
      place = math.max(1, place - 1)
    else
      place = math.max(place, tonumber(own or '0'), tonumber(redis.call('ZSCORE', places, tenant) or '0')) + 1
      redis.call('ZADD', places, int(place), tenant)
      redis.call('ZREMRANGEBYSCORE', places, '-inf', '(' .. (head or '0'))
      redis.call('PEXPIRE', places, places_ms)
    end
    redis.call('SET', job_prefix .. id, job, 'PX', job_ms)
    redis.call('ZADD', queue, int(math.min(place, now)), id)
    rung = redis.call('RPUSH', bell, '1')
    put[#put + 1] = id
  end
end
if rung > tonumber(rings) then redis.call('LTRIM', bell, -rings, -1) end
return put
