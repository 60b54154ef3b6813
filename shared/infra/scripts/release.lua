-- Give the lease back only if nothing waits: the same step decides both, so no turn falls between (I6).
local lease, inbox, signals, session, open, leased = unpack(KEYS)
local owner, fence, member, retention = unpack(ARGV)

if not holds(lease, owner, fence) then return {again and 'ok' or 'lost'} end
if redis.call('LLEN', inbox) + redis.call('LLEN', signals) > 0 then return {'work'} end
redis.call('HDEL', lease, 'owner', 'until')
redis.call('ZREM', leased, member)
leaves_in_time(open, session, lease, retention)
return {'ok'}
