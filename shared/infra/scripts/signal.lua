-- Put a decision, cancel or deadline before the inbox, unless the task is unknown or has ended.
-- All but a cancel wait while the tenant is stopped; a cancel has its session looked at though it was put off.
-- With a timer that is due, it is the timer's deadline, once, whoever asks; an ended task's timer just goes.
local record, signals, turns, begun, waiting, leased, timers = unpack(KEYS)
local turn_id, turn, member, waits, timer = unpack(ARGV)

if timer and redis.call('ZREM', timers, timer) == 0 then return 0 end
if redis.call('HGET', record, 'ended') ~= '0' then return 0 end
if redis.call('HSETNX', turns, turn_id, turn) == 1 then
  redis.call('HSET', begun, turn_id .. ':at', int(now_us()), turn_id .. ':of', string.sub(record, 1, -#'record' - 1))
  if waits == '1' then redis.call('HSET', begun, turn_id .. ':waits', '1') end
  redis.call('RPUSH', signals, turn_id)
end
add_to_waiting(waiting, leased, member)
if waits ~= '1' then redis.call('ZADD', waiting, 'XX', int(now_ms()), member) end
return 1
