-- Give the lease back although work waits; the reaper wakes somebody once the delay is over.
local lease, inbox, signals, waiting, leased = unpack(KEYS)
local owner, fence, member, delay_ms = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
redis.call('HDEL', lease, 'owner', 'until')
redis.call('ZREM', leased, member)
if redis.call('LLEN', inbox) + redis.call('LLEN', signals) > 0 then
  redis.call('ZADD', waiting, int(now_ms() + delay_ms), member)
end
return {'ok'}
