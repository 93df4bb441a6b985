"""The worker's system-call filter, applied before any user code runs.

Podman's default profile lets an unprivileged process create a user namespace and mount in it; Docker's does not. This
filter makes all engines alike, needs no profile file (a remote engine would read that on its own machine) and stays in
force for every descendant. It is a deny list, so ordinary programs keep working: everything that Docker's default
profile denies to a process without capabilities, and what experiments found reachable.

Classic BPF over `struct seccomp_data` (linux/seccomp.h): `nr` at byte 0, `arch` at 4, arguments from 16, little-endian.
"""

from __future__ import annotations

import ctypes
import os

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2

_EPERM, _EINVAL, _ENOSYS, _EOPNOTSUPP, _EAFNOSUPPORT = 1, 22, 38, 95, 97
_RETURN_ALLOW, _RETURN_ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH = 0, 4
# The lower half of each argument, which is all of it where the kernel expects an int.
_OFFSET_ARGUMENT_0, _OFFSET_ARGUMENT_1, _OFFSET_ARGUMENT_2, _OFFSET_ARGUMENT_3 = 16, 24, 32, 40
_X32_BIT = 0x40000000

# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h).
_CLONE_NEW_ANY = 0x7E020080
# AF_UNIX, AF_INET, AF_INET6 reach nothing without a network; vsock, packet, alg and others would.
_SOCKET_FAMILIES = (1, 2, 10)
_AF_UNIX, _AF_NETLINK = 1, 16
# The first process, which code must not slow down: it ends the sandbox with the host, and may enforce its limits.
_FIRST_PROCESS = 1
_SOL_SOCKET = 1
# SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF.
_SOCKET_PROGRAMS = (26, 50, 51, 52)

# F_SETLEASE, F_NOTIFY and F_SETDELEG (linux/fcntl.h). A lease makes whoever opens the file next wait for 45 s, also
# outside of the sandbox and through a read-only mount; a notice says what others do in a folder.
_SHARED_FILE_COMMANDS = (1024, 1026, 1040)

# Numbers from the kernel's syscall tables: (x86_64, aarch64); None if the call does not exist.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # Namespaces and mounts.
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "statmount": (457, 457), "listmount": (458, 458), "open_tree_attr": (467, 467),
    # Keys, programs in the kernel, asynchronous rings.
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # Other processes.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    # The machine.
    "init_module": (175, 105), "delete_module": (176, 106), "finit_module": (313, 273), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "syslog": (103, 116), "quotactl": (179, 60), "quotactl_fd": (443, 443), "ioperm": (173, None),
    "iopl": (172, None), "modify_ldt": (154, None), "personality": (135, 92), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "vhangup": (153, 58),
    # Files by handle, memory hidden from the kernel, memory of other NUMA nodes, obsolete calls.
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "memfd_secret": (447, 447),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "get_mempolicy": (239, 236),
    "set_mempolicy_home_node": (450, 450),
    "move_pages": (279, 239), "migrate_pages": (256, 238), "vmsplice": (278, 75), "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262), "ustat": (136, None), "sysfs": (139, None), "uselib": (134, None),
    "_sysctl": (156, None),
}  # fmt: skip

# Refused as a file system without them would. An access control list on a tmpfs takes up to 128 KiB of the kernel's
# memory for each file, which not even a cgroup counts.
_ATTRIBUTES: dict[str, tuple[int, int]] = {
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
}  # fmt: skip

# Refused for the first process, which has the same user.
_OF_PROCESS: dict[str, tuple[int, int]] = {
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "prlimit64": (302, 261),
}  # fmt: skip
# The same for calls that also accept a process group or all processes of a user; with the value that means a user.
_OF_PROCESSES: dict[str, tuple[int, int, int]] = {"setpriority": (141, 140, 2), "ioprio_set": (251, 30, 3)}

# Memory that belongs to no process, so only a cgroup counts it: in-memory files, what System V shares, and watches of
# files. Those also see each program and module that others open on bubblewrap, which has no cgroup and shares /usr.
_DENIED_WITHOUT_CGROUP: dict[str, tuple[int, int | None]] = {
    "memfd_create": (319, 279), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190),
    "inotify_init": (253, None), "inotify_init1": (294, 26),
}  # fmt: skip

# Flags of mmap. MAP_SHARED_VALIDATE contains MAP_SHARED (linux/mman.h).
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20

# machine: (AUDIT_ARCH value, column of _DENIED, clone, clone3, socket, socketpair, setsockopt, mmap, fcntl)
_MACHINES = {
    "x86_64": (0xC000003E, 0, 56, 435, 41, 53, 54, 9, 72),
    "aarch64": (0xC00000B7, 1, 220, 435, 198, 199, 208, 222, 25),
}

Instruction = tuple[int, int, int, int]


def build_filter(
    machine: str, has_cgroup: bool = True, shares_files: bool = True, has_network: bool = False
) -> list[Instruction] | None:
    """The program as (code, jump if true, jump if false, value); None for a machine with unknown call numbers.

    Without a cgroup that limits memory, calls that allocate memory outside of processes are refused as well, among them
    shared anonymous mappings: their memory stays until the last page is unmapped, even if no process counts it.
    Without `shares_files`, so are shared mappings of files. With `has_network`, a socket could reach others, so only
    sockets within the machine are left.
    """
    known = _MACHINES.get(machine)
    if known is None:
        return None
    arch, column, clone, clone3, socket, socketpair, setsockopt, mmap, fcntl = known

    program: list[Instruction] = [
        (_LOAD, 0, 0, _OFFSET_ARCH),
        (_JUMP_EQUAL, 1, 0, arch),
        _refuse(_EPERM),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        program += [(_JUMP_GREATER_EQUAL, 0, 1, _X32_BIT), _refuse(_ENOSYS)]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            program += [(_JUMP_EQUAL, 0, 1, number), _refuse(_EPERM)]
    for numbers in _ATTRIBUTES.values():
        program += [(_JUMP_EQUAL, 0, 1, numbers[column]), _refuse(_EOPNOTSUPP)]
    program += _protect_first_process(column)
    if not has_cgroup:
        for numbers in _DENIED_WITHOUT_CGROUP.values():
            number = numbers[column]
            if number is not None:
                program += [(_JUMP_EQUAL, 0, 1, number), _refuse(_ENOSYS)]
        program += [
            (_JUMP_EQUAL, 0, 5, mmap),
            (_LOAD, 0, 0, _OFFSET_ARGUMENT_3),
            (_JUMP_SET, 0, 2, _MAP_SHARED),
            (_JUMP_SET, 0, 1, _MAP_ANONYMOUS | (0 if shares_files else _MAP_SHARED)),
            _refuse(_EPERM),
            (_RETURN, 0, 0, _RETURN_ALLOW),
        ]
    # The arguments of clone3 are in memory, which a filter cannot read; libc falls back to clone.
    program += [(_JUMP_EQUAL, 0, 1, clone3), _refuse(_ENOSYS)]
    program += [
        (_JUMP_EQUAL, 0, 4, clone),
        (_LOAD, 0, 0, _OFFSET_ARGUMENT_0),
        (_JUMP_SET, 0, 1, _CLONE_NEW_ANY),
        _refuse(_EPERM),
        (_RETURN, 0, 0, _RETURN_ALLOW),
    ]
    program += _limit_argument(fcntl, _OFFSET_ARGUMENT_1, _SHARED_FILE_COMMANDS, _EINVAL)
    program += [*_limit_sockets(socket, socketpair, setsockopt, has_network), (_RETURN, 0, 0, _RETURN_ALLOW)]
    return program


def _refuse(errno: int) -> Instruction:
    return (_RETURN, 0, 0, _RETURN_ERRNO | errno)


def _protect_first_process(column: int) -> list[Instruction]:
    program: list[Instruction] = []
    for numbers in _OF_PROCESS.values():
        program += [
            (_JUMP_EQUAL, 0, 4, numbers[column]),
            (_LOAD, 0, 0, _OFFSET_ARGUMENT_0),
            (_JUMP_EQUAL, 0, 1, _FIRST_PROCESS),
            _refuse(_EPERM),
            (_RETURN, 0, 0, _RETURN_ALLOW),
        ]
    for *numbers, user in _OF_PROCESSES.values():
        program += [
            (_JUMP_EQUAL, 0, 6, numbers[column]),
            (_LOAD, 0, 0, _OFFSET_ARGUMENT_0),
            (_JUMP_EQUAL, 2, 0, user),
            (_LOAD, 0, 0, _OFFSET_ARGUMENT_1),
            (_JUMP_EQUAL, 0, 1, _FIRST_PROCESS),
            _refuse(_EPERM),
            (_RETURN, 0, 0, _RETURN_ALLOW),
        ]
    return program


def _limit_argument(number: int, offset: int, refused: tuple[int, ...], errno: int) -> list[Instruction]:
    """Refuses a call with one of these values of one argument."""
    return [
        (_JUMP_EQUAL, 0, len(refused) + 3, number),
        (_LOAD, 0, 0, offset),
        *((_JUMP_EQUAL, len(refused) - index, 0, value) for index, value in enumerate(refused)),
        (_RETURN, 0, 0, _RETURN_ALLOW),
        _refuse(errno),
    ]


def _limit_sockets(socket: int, socketpair: int, setsockopt: int, has_network: bool) -> list[Instruction]:
    allowed = (_AF_UNIX,) if has_network else _SOCKET_FAMILIES
    families = [(_JUMP_EQUAL, len(allowed) + 3 - index, 0, family) for index, family in enumerate(allowed)]
    program: list[Instruction] = [
        (_JUMP_EQUAL, 0, len(allowed) + 6, socket),
        (_LOAD, 0, 0, _OFFSET_ARGUMENT_0),
        *families,
        (_JUMP_EQUAL, 0, 2, _AF_NETLINK),
        # Only NETLINK_ROUTE, which libc needs to list interfaces.
        (_LOAD, 0, 0, _OFFSET_ARGUMENT_2),
        (_JUMP_EQUAL, 1, 0, 0),
        _refuse(_EAFNOSUPPORT),
        (_RETURN, 0, 0, _RETURN_ALLOW),
    ]
    # Other families have no pairs, but naming one may make the kernel load a module for it.
    program += [
        (_JUMP_EQUAL, 0, 4, socketpair),
        (_LOAD, 0, 0, _OFFSET_ARGUMENT_0),
        (_JUMP_EQUAL, 1, 0, _AF_UNIX),
        _refuse(_EAFNOSUPPORT),
        (_RETURN, 0, 0, _RETURN_ALLOW),
    ]
    # Compiled programs take memory that all processes of the machine share.
    attach = [(_JUMP_EQUAL, len(_SOCKET_PROGRAMS) - index, 0, option) for index, option in enumerate(_SOCKET_PROGRAMS)]
    program += [
        (_JUMP_EQUAL, 0, len(attach) + 5, setsockopt),
        (_LOAD, 0, 0, _OFFSET_ARGUMENT_1),
        (_JUMP_EQUAL, 0, len(attach) + 1, _SOL_SOCKET),
        (_LOAD, 0, 0, _OFFSET_ARGUMENT_2),
        *attach,
        (_RETURN, 0, 0, _RETURN_ALLOW),
        _refuse(_EPERM),
    ]
    return program


# A condition on one argument, as a profile has it.
_Condition = dict[str, "int | str"]


def build_profile() -> dict[str, object]:
    """The same filter as a profile for podman and docker, for sandboxes in which no supervisor applies it.

    Their libseccomp knows the numbers, refuses foreign architectures, and passes over calls that it does not know.
    """
    # One rule for each: runc takes several conditions on one argument as alternatives.
    known = (*_SOCKET_FAMILIES, _AF_NETLINK)
    sockets: list[_Condition] = [
        {"index": 0, "value": family, "valueTwo": 0, "op": "SCMP_CMP_EQ"}
        for family in range(max(known))
        if family not in known
    ]
    sockets.append({"index": 0, "value": max(known), "valueTwo": 0, "op": "SCMP_CMP_GT"})
    option: _Condition = {"index": 1, "value": _SOL_SOCKET, "valueTwo": 0, "op": "SCMP_CMP_EQ"}
    first_process: _Condition = {"index": 0, "value": _FIRST_PROCESS, "valueTwo": 0, "op": "SCMP_CMP_EQ"}
    is_namespace: list[_Condition] = [
        {"index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"}
        for flag in (1 << bit for bit in range(32))
        if flag & _CLONE_NEW_ANY
    ]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [
            _refused(list(_DENIED), _EPERM),
            _refused(list(_ATTRIBUTES), _EOPNOTSUPP),
            _refused(["clone3"], _ENOSYS),
            *(_refused(["clone"], _EPERM, [flag]) for flag in is_namespace),
            *(_refused(["socket"], _EAFNOSUPPORT, [family]) for family in sockets),
            _refused(["socket"], _EAFNOSUPPORT, [
                {"index": 0, "value": _AF_NETLINK, "valueTwo": 0, "op": "SCMP_CMP_EQ"},
                {"index": 2, "value": 0, "valueTwo": 0, "op": "SCMP_CMP_NE"},
            ]),
            _refused(["socketpair"], _EAFNOSUPPORT, [
                {"index": 0, "value": _AF_UNIX, "valueTwo": 0, "op": "SCMP_CMP_NE"},
            ]),
            *(
                _refused(["setsockopt"], _EPERM,
                         [option, {"index": 2, "value": each, "valueTwo": 0, "op": "SCMP_CMP_EQ"}])
                for each in _SOCKET_PROGRAMS
            ),
            *(
                _refused(["fcntl"], _EINVAL,
                         [{"index": 1, "value": 0xFFFFFFFF, "valueTwo": each, "op": "SCMP_CMP_MASKED_EQ"}])
                for each in _SHARED_FILE_COMMANDS
            ),
            _refused(list(_OF_PROCESS), _EPERM, [first_process]),
        ],
    }  # fmt: skip


def _refused(names: list[str], errno: int, arguments: list[_Condition] | None = None) -> dict[str, object]:
    rule: dict[str, object] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno}
    if arguments is not None:
        rule["args"] = arguments
    return rule


class _FilterInstruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_ushort),
        ("jump_true", ctypes.c_ubyte),
        ("jump_false", ctypes.c_ubyte),
        ("value", ctypes.c_uint32),
    ]


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_FilterInstruction))]


def apply_filter(libc: ctypes.CDLL, program: list[Instruction]) -> None:
    """Applies the program to this process and its descendants, irrevocably. Raises OSError if refused."""
    instructions = (_FilterInstruction * len(program))(*program)
    packed = _FilterProgram(len(program), instructions)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS) failed")
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(packed), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP) failed")


def machine_name() -> str:
    """The machine name from uname(2)."""
    return os.uname().machine
