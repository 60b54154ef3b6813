-- Give the lease back only if nothing waits: the same step decides both, so no turn falls between (I6).
-- What waits for its stopped tenant to go on is no reason to keep it: it is looked at much later, or when the stop ends.
local lease, inbox, signals, session, open, leased, begun, waiting, stopped, idle = unpack(KEYS)
local owner, fence, member, retention, stopped_ms = unpack(ARGV)

if not holds(lease, owner, fence) then return {again and 'ok' or 'lost'} end
local work = redis.call('LLEN', inbox) + redis.call('LLEN', signals) > 0
local parked = work and stop_reason(stopped) ~= '' and not urgent(signals, begun)
if work and not parked then return {'work'} end
redis.call('HDEL', lease, 'owner', 'until')
redis.call('ZREM', leased, member)
if parked then
  redis.call('ZADD', waiting, looked_at_in(stopped_ms), member)
else
  leaves_in_time(open, session, lease, retention, idle, member)
end
return {'ok'}
