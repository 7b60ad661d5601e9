"""A server of pushes as a process of its own, to be killed: python push_server.py WORKSPACE PORT [SECONDS]."""

import sys
from pathlib import Path

from gamewarden.core.listening import bound
from gamewarden.desk.desk import Desk
from gamewarden.store.inbox import Rotation
from gamewarden.web.serving import serve
from gamewarden.workspace.place import Workspace

if __name__ == "__main__":
    desk = Desk(Workspace.at(Path(sys.argv[1])))
    if len(sys.argv) > 3:
        desk.door.rotation = Rotation(age=float(sys.argv[3]))
    serve(desk, bound("127.0.0.1", int(sys.argv[2])))
