# typeshed describes only the public module; the supervisor imports the one in C, because `signal` loads `enum`.
from signal import *
