-- An executor has looked at the session of a wake: the wake leaves the queue, unless the session was woken meanwhile,
-- which gave it another place. For a while the session counts as attended to: see queue_wakes.
local queue, taken, job, claim, tries = unpack(KEYS)
local id, place, taken_ms = unpack(ARGV)

local now, own = now_ms(), redis.call('ZSCORE', queue, id)
if own and tonumber(own) ~= tonumber(place) then
  redis.call('DEL', claim, tries)
  return 0
end
redis.call('ZREM', queue, id)
redis.call('DEL', claim, tries, job)
redis.call('ZREMRANGEBYSCORE', taken, '-inf', int(now))
redis.call('ZADD', taken, int(now + taken_ms), id)
redis.call('PEXPIRE', taken, taken_ms)
return 1
