-- The part of AzerothCore's Lua interface (mod-ale) that the collector uses, over players made up here: runs the
-- collector given as the first argument through the scene named by the second and prints each statement on a line.

local clock, handlers, players, timer = 1790000000250, { player = {}, server = {} }, {}, nil
os.time = function() return math.floor(clock / 1000) end
function GetCurrTime() return (clock - 1789999990000) % 4294967296 end
function GetPlayersInWorld() return players end
function CharDBExecute(statement) print(statement) end
function CreateLuaEvent(run) timer = run end
function RegisterServerEvent(event, run) handlers.server[event] = run end
function RegisterPlayerEvent(event, run)
  if event > 57 then error("no such event") end -- as an older server
  handlers.player[event] = run
end

local function entry(number) return { GetEntry = function() return number end } end

local function player(account, guid, ip)
  local self = { x = 1.25, y = -2.5, zone = 12, level = 7 }
  function self:GetAccountId() return account end
  function self:GetGUIDLow() return guid end
  function self:GetPlayerIP() return ip end
  function self:GetX() return self.x end
  function self:GetY() return self.y end
  function self:GetZoneId() return self.zone end
  function self:GetMapId() return 0 end
  function self:GetLevel() return self.level end
  return self
end

local function happens(event, ...) handlers.player[event](event, ...) end

local function seconds(many)
  for _ = 1, many do
    clock = clock + 1000
    timer(1, 1000, 0)
  end
end

dofile(arg[1])
local ann, bob = player(11, 101, "192.0.2.1"), player(12, 102, arg[3] or "192.0.2.2")
players = { ann, bob }
local scenes = {}

function scenes.everything()
  happens(3, ann)
  happens(27, ann, 40, 41)
  happens(7, ann, entry(299))
  happens(32, ann, entry(2589), 3)
  happens(37, ann, 45)
  ann.level = 8
  happens(13, ann, 7)
  happens(13, ann, 9) -- a level lost is none gained
  happens(8, entry(300), ann)
  happens(6, bob, ann)
  happens(4, ann)
  handlers.server[15](15)
end

function scenes.hostile()
  happens(3, bob)
  handlers.server[16](16)
end

function scenes.kills()
  for _ = 1, 250 do
    clock = clock + 10
    happens(7, ann, entry(299))
  end
  handlers.server[15](15)
end

function scenes.walk()
  seconds(20) -- both are looked at, and stand
  ann.x = 5
  seconds(20)
end

function scenes.waits()
  happens(7, ann, entry(299))
  seconds(4)
  print("-- four seconds")
  seconds(1)
end

scenes[arg[2]]()
