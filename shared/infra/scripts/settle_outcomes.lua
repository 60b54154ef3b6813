-- Acknowledge outcomes, move the hopeless ones to the dead letters, and trim what nobody needs any more.
-- Of what was acknowledged, the newest entry stays: at most one a partition.
local outcomes, dead = unpack(KEYS)
local group, applied = unpack(ARGV)

for i = 3, 2 + applied do redis.call('XACK', outcomes, group, ARGV[i]) end
for i = 3 + applied, #ARGV, 3 do
  local entry = redis.call('XRANGE', outcomes, ARGV[i], ARGV[i])[1]
  if redis.call('XACK', outcomes, group, ARGV[i]) == 1 and entry then
    local fields = entry[2]
    fields[#fields + 1] = 'error'
    fields[#fields + 1] = ARGV[i + 1]
    fields[#fields + 1] = 'tries'
    fields[#fields + 1] = ARGV[i + 2]
    redis.call('XADD', dead, '*', unpack(fields))
  end
end

local pending = redis.call('XPENDING', outcomes, group)
local first = pending[2]
if pending[1] == 0 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', outcomes)) do
    local is_ours = false
    for i = 1, #info, 2 do
      if info[i] == 'name' then is_ours = info[i + 1] == group end
      if info[i] == 'last-delivered-id' and is_ours then first = info[i + 1] end
    end
  end
end
if first then redis.call('XTRIM', outcomes, 'MINID', first) end
return 1
