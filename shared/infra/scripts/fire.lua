-- Turn one due timer into a deadline signal, once, whoever asks. An ended task's timer just goes.
local timers, record, signals, turns, begun, waiting, leased = unpack(KEYS)
local timer, turn_id, turn, member = unpack(ARGV)

if redis.call('ZREM', timers, timer) == 0 then return 0 end
if redis.call('HGET', record, 'ended') ~= '0' then return 0 end
if redis.call('HSETNX', turns, turn_id, turn) == 1 then
  redis.call('HSET', begun, turn_id .. ':at', int(now_us()), turn_id .. ':of', string.sub(record, 1, -#'record' - 1))
  redis.call('HSET', begun, turn_id .. ':waits', '1') -- while the tenant is stopped
  redis.call('RPUSH', signals, turn_id)
end
await_claim(waiting, leased, member)
return 1
