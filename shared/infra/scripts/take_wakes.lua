-- Lock the first wakes that are due in arq's queue for an executor, as many as it has room for, in all and of each
-- tenant; replies with each and its score. A call that is repeated finds its own locks by its token.
local token, lock_ms, most_read, lock_prefix = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local room, room_of_other, room_of = tonumber(ARGV[5]), tonumber(ARGV[6]), {}
for i = 7, #ARGV, 2 do room_of[ARGV[i]] = tonumber(ARGV[i + 1]) end

local due, taken = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', int(now_ms()), 'WITHSCORES', 'LIMIT', 0, most_read), {}
for i = 1, #due, 2 do
  if room <= 0 then break end
  local id, tenant = due[i], string.match(due[i], '^[^:]*')
  local left = room_of[tenant] or room_of_other
  if left > 0 then
    local locked = redis.call('SET', lock_prefix .. id, token, 'NX', 'PX', lock_ms)
    if locked or (again and redis.call('GET', lock_prefix .. id) == token) then
      room, room_of[tenant] = room - 1, left - 1
      taken[#taken + 1], taken[#taken + 2] = id, due[i + 1]
    end
  end
end
return taken
