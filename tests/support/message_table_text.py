"""A small table of Ragnarok packets."""

TEXT = """\
// 0x0001,9,ghost,2
packet_db_ver: default
packet_ver: 5
0x0072,19,wanttoconnection,2:6:10:14:18
0x0085,5,walktoxy,2   // moved later
0x0216,6
packet_ver:7
packet_keys: 0x11111111,0x22222222,0x33333333 // not a packet
0x0085 , 11 , ChangeDir , 7:10
0x00A7,8,walktoxy,5
//0x00a7,9,walktoxy,6
0x0096,-1,WisMessage,2:4:28
0x0216,0
packet_ver: 9
0x00a7,11,walktoxy,8
"""
