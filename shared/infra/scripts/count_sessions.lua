-- How many of a tenant's sessions wait in one partition, and how many are worked on.
local waiting, leased = unpack(KEYS)
local members = ARGV[1]

local function count(set)
  local found = 0
  for _, member in ipairs(redis.call('ZRANGE', set, 0, -1)) do
    if string.sub(member, 1, #members) == members then found = found + 1 end
  end
  return found
end

return {count(waiting), count(leased)}
