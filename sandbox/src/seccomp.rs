//! System calls of workers and guests.
//!
//! Programs of which the strictest answer counts. A worker installs [`worker_filters`] once,
//! and its forks inherit them; a guest adds [`guest_filter`], which takes from it what the worker
//! needs to run guests. A call that is not listed fails with EPERM, which an honest program may
//! meet; the calls of [`FORBIDDEN`] end the process with SIGSYS.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls of an interpreter and of honest programs.
#[rustfmt::skip]
const ALLOWED: &[c_long] = &[
    // Files.
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64,
    libc::SYS_pwrite64, libc::SYS_preadv, libc::SYS_pwritev, libc::SYS_preadv2, libc::SYS_pwritev2,
    libc::SYS_openat, libc::SYS_close, libc::SYS_close_range, libc::SYS_fstat, libc::SYS_newfstatat,
    libc::SYS_statx, libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_lseek,
    libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_mkdirat,
    libc::SYS_unlinkat, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat,
    libc::SYS_symlinkat, libc::SYS_readlinkat, libc::SYS_fchmod, libc::SYS_fchmodat,
    libc::SYS_truncate, libc::SYS_ftruncate, libc::SYS_fallocate, libc::SYS_fsync,
    libc::SYS_fdatasync, libc::SYS_umask, libc::SYS_utimensat, libc::SYS_statfs, libc::SYS_fstatfs,
    libc::SYS_fadvise64, libc::SYS_copy_file_range, libc::SYS_sendfile, libc::SYS_dup,
    libc::SYS_dup3, libc::SYS_fcntl, libc::SYS_flock, libc::SYS_pipe2, libc::SYS_ppoll,
    libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_eventfd2, libc::SYS_ioctl, libc::SYS_memfd_create,
    // Pairs of sockets; no other socket can be made.
    libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_shutdown,
    libc::SYS_getsockopt, libc::SYS_setsockopt, libc::SYS_getsockname, libc::SYS_getpeername,
    // Memory.
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_mprotect, libc::SYS_madvise,
    libc::SYS_brk, libc::SYS_mincore, libc::SYS_msync, libc::SYS_membarrier,
    // Threads and processes.
    libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_rseq,
    libc::SYS_set_tid_address, libc::SYS_prctl, libc::SYS_clone, libc::SYS_exit,
    libc::SYS_exit_group, libc::SYS_wait4, libc::SYS_waitid, libc::SYS_getpid, libc::SYS_getppid,
    libc::SYS_gettid, libc::SYS_getpgid, libc::SYS_setpgid, libc::SYS_getsid, libc::SYS_setsid,
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getresuid,
    libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_capget, libc::SYS_prlimit64,
    libc::SYS_getrusage, libc::SYS_times, libc::SYS_sysinfo, libc::SYS_uname,
    libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity,
    libc::SYS_sched_getparam, libc::SYS_sched_getscheduler, libc::SYS_getpriority,
    libc::SYS_getcpu, libc::SYS_getrandom, libc::SYS_pidfd_open, libc::SYS_kill,
    libc::SYS_tgkill, libc::SYS_restart_syscall,
    // Clocks and signals.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep, libc::SYS_gettimeofday, libc::SYS_setitimer, libc::SYS_getitimer,
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack, libc::SYS_getrlimit, libc::SYS_setrlimit,
];

/// The same under the names that only this architecture has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const ALLOWED_HERE: &[c_long] = &[
    libc::SYS_open, libc::SYS_creat, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access,
    libc::SYS_mkdir, libc::SYS_rmdir, libc::SYS_unlink, libc::SYS_rename, libc::SYS_link,
    libc::SYS_symlink, libc::SYS_readlink, libc::SYS_chmod, libc::SYS_dup2, libc::SYS_pipe,
    libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_create, libc::SYS_epoll_wait,
    libc::SYS_eventfd, libc::SYS_arch_prctl, libc::SYS_getpgrp, libc::SYS_time, libc::SYS_alarm,
    libc::SYS_pause, libc::SYS_utimes,
];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[c_long] = &[];

/// Calls that no honest program makes: network, other processes, the kernel's own interfaces.
#[rustfmt::skip]
const FORBIDDEN: &[c_long] = &[
    libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept,
    libc::SYS_accept4, libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd, libc::SYS_kcmp, libc::SYS_keyctl, libc::SYS_add_key,
    libc::SYS_request_key, libc::SYS_bpf, libc::SYS_userfaultfd, libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_mount, libc::SYS_umount2,
    libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsmount,
    libc::SYS_mount_setattr, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_unshare,
    libc::SYS_setns, libc::SYS_kexec_load, libc::SYS_perf_event_open, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_reboot, libc::SYS_swapon,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime, libc::SYS_adjtimex,
    libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setreuid, libc::SYS_setregid,
    libc::SYS_setresuid, libc::SYS_setresgid, libc::SYS_setgroups, libc::SYS_capset,
    libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at, libc::SYS_shmget, libc::SYS_shmat,
    libc::SYS_personality, libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_acct,
    libc::SYS_quotactl, libc::SYS_syslog, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_pidfd_send_signal, libc::SYS_execve,
    libc::SYS_execveat, libc::SYS_mknodat,
];

#[cfg(target_arch = "x86_64")]
const FORBIDDEN_HERE: &[c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[c_long] = &[];

/// Calls that the worker makes and a guest may not: signals to other processes, and memory outside
/// of the limit of address space.
const WORKERS_OWN: &[c_long] = &[libc::SYS_kill, libc::SYS_memfd_create, libc::SYS_pidfd_open];

/// `prctl` options that a guest may use: its threads' names, and names of memory (glibc's malloc).
const PRCTL_OPTIONS: [u64; 3] =
    [libc::PR_SET_NAME as u64, libc::PR_GET_NAME as u64, libc::PR_SET_VMA as u64];

/// `fcntl` commands by which a descriptor sends signals: `F_SETOWN`, `F_SETSIG`, `F_SETOWN_EX`,
/// `F_SETLEASE`, `F_NOTIFY`.
const FCNTL_SIGNALS: [u64; 5] = [8, 10, 15, 1024, 1026];

/// `ioctl` requests that do the same: `FIOSETOWN` and `SIOCSPGRP`.
const IOCTL_OWNERS: [u64; 2] = [0x8901, 0x8902];

/// Calls by which a worker starts tools, and restricts what comes of them. The guests of other workers
/// may make none of them, and those of such a worker one of the first two, once.
const STARTING: &[c_long] =
    &[libc::SYS_execve, libc::SYS_execveat, libc::SYS_landlock_restrict_self];

/// The same under the names that only this architecture has.
#[cfg(target_arch = "x86_64")]
const STARTING_HERE: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const STARTING_HERE: &[c_long] = &[];

/// The bits of the flags of `clone` that are the signal at the child's end.
const EXIT_SIGNAL: u64 = 0xff;

/// Calls that change the process of their first argument. The kernel compares users alone, and those of
/// worker and guest are the same.
const OF_A_PROCESS: [c_long; 2] = [libc::SYS_prlimit64, libc::SYS_sched_setaffinity];

/// What a fork replaces in the filter of a guest before it becomes one: the number of its process, and in
/// [`native_filter`] the address of its program's path and that of the empty path beside a descriptor.
const PATH_MARK: u64 = 0x5ac1_e001_5ac1_e002;
const EMPTY_MARK: u64 = 0x5ac1_e003_5ac1_e004;
const PID_MARK: u64 = 0x5ac1_e005;

/// Programs that a worker installs, as the kernel reads them; those of a worker that starts tools
/// if `is_native`.
pub(crate) fn worker_filters(is_native: bool) -> Vec<Vec<u8>> {
    let mut allowed: Rules =
        ALLOWED.iter().chain(ALLOWED_HERE).map(|call| (*call, vec![])).collect();
    let starting: Vec<c_long> =
        STARTING.iter().chain(STARTING_HERE).copied().filter(|_| is_native).collect();
    allowed.extend(starting.iter().map(|call| (*call, vec![])));
    // Connected alone: a datagram socket could send to any address.
    let pair = |kind: i32| {
        let unix = condition(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64);
        rule(vec![unix, condition(1, SeccompCmpOp::MaskedEq(0xf), kind.unsigned_abs().into())])
    };
    let pairs = if is_native {
        // By which compilers in Rust start a linker.
        vec![pair(libc::SOCK_STREAM), pair(libc::SOCK_SEQPACKET)]
    } else {
        vec![pair(libc::SOCK_STREAM)]
    };
    allowed.insert(libc::SYS_socketpair, pairs);
    let forbidden = FORBIDDEN.iter().chain(FORBIDDEN_HERE);
    let forbidden =
        forbidden.filter(|call| !starting.contains(call)).map(|call| (*call, vec![])).collect();
    // The C library makes threads by `clone`, whose flags a filter can read, where `clone3` is absent.
    let absent = Rules::from([(libc::SYS_clone3, vec![])]);
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    vec![
        compiled(allowed, refuse, SeccompAction::Allow),
        compiled(absent, SeccompAction::Allow, unknown),
        compiled(forbidden, SeccompAction::Allow, SeccompAction::KillProcess),
    ]
}

/// The program that a guest adds before untrusted code runs.
pub(crate) fn guest_filter() -> Vec<u8> {
    let mut killed = of_every_guest();
    killed.insert(libc::SYS_clone, vec![new_process()]);
    compiled(killed, SeccompAction::Allow, SeccompAction::KillProcess)
}

/// The program that keeps the limit of CPU time as it is, installed once that is set. A guest that lowered its hard
/// limit would be killed by SIGKILL there, which is how a death from outside is recognised. Other limits are its own.
pub(crate) fn cpu_limit_filter() -> Vec<u8> {
    let of_cpu = |argument| condition(argument, SeccompCmpOp::Eq, u64::from(libc::RLIMIT_CPU));
    // Without a new limit the call reads the old one.
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)
        .expect("a call has six arguments");
    let refused = Rules::from([
        (libc::SYS_setrlimit, vec![rule(vec![of_cpu(0)])]),
        (libc::SYS_prlimit64, vec![rule(vec![of_cpu(1), sets])]),
    ]);
    compiled(refused, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))
}

/// The program of a guest that is started by a tool's path or is a compiled program. With `processes`
/// it may start others.
pub(crate) fn native_filter(processes: bool) -> Vec<u8> {
    let mut killed = of_every_guest();
    if processes {
        // A child may send its parent another signal than SIGCHLD when it ends.
        let signal = condition(
            0,
            SeccompCmpOp::MaskedEq(EXIT_SIGNAL),
            u64::from(libc::SIGKILL.unsigned_abs()),
        );
        killed.insert(libc::SYS_clone, vec![rule(vec![signal])]);
    } else {
        killed.insert(libc::SYS_clone, vec![new_process()]);
        killed.extend(STARTING_HERE.iter().map(|call| (*call, vec![])));
        for (call, argument, mark) in
            [(libc::SYS_execve, 0, PATH_MARK), (libc::SYS_execveat, 1, EMPTY_MARK)]
        {
            let other =
                SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, mark)
                    .expect("a call has six arguments");
            killed.insert(call, vec![rule(vec![other])]);
        }
    }
    compiled(killed, SeccompAction::Allow, SeccompAction::KillProcess)
}

/// Whether a new thread is a process.
fn new_process() -> SeccompRule {
    rule(vec![condition(0, SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64), 0)])
}

/// What no guest may do.
fn of_every_guest() -> Rules {
    let mut killed: Rules = WORKERS_OWN.iter().map(|call| (*call, vec![])).collect();
    let other = PRCTL_OPTIONS.map(|option| condition(0, SeccompCmpOp::Ne, option));
    killed.insert(libc::SYS_prctl, vec![rule(other.to_vec())]);
    // The kernel would send the signal of F_SETSIG, whichever it is.
    let signals = FCNTL_SIGNALS.map(|command| rule(vec![condition(1, SeccompCmpOp::Eq, command)]));
    killed.insert(libc::SYS_fcntl, signals.to_vec());
    let owners = IOCTL_OWNERS.map(|request| rule(vec![condition(1, SeccompCmpOp::Eq, request)]));
    killed.insert(libc::SYS_ioctl, owners.to_vec());
    // A guest may signal itself: `abort` does. Never by SIGKILL, which is how a death from outside is
    // recognised. What a guest in Bash starts has another number, and may not.
    let kill = condition(2, SeccompCmpOp::Eq, libc::SIGKILL as u64);
    let other = condition(0, SeccompCmpOp::Ne, PID_MARK);
    killed.insert(libc::SYS_tgkill, vec![rule(vec![kill]), rule(vec![other])]);
    // 0 is the calling process.
    let other = [0, PID_MARK].map(|own| condition(0, SeccompCmpOp::Ne, own));
    killed.extend(OF_A_PROCESS.map(|call| (call, vec![rule(other.to_vec())])));
    killed
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> SeccompCondition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
        .expect("a call has six arguments")
}

fn rule(conditions: Vec<SeccompCondition>) -> SeccompRule {
    SeccompRule::new(conditions).expect("a rule has conditions")
}

/// The bytes of `struct sock_filter`s.
fn compiled(rules: Rules, otherwise: SeccompAction, matched: SeccompAction) -> Vec<u8> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .expect("the sandbox is built for architectures with filters");
    let filter = SeccompFilter::new(rules, otherwise, matched, arch).expect("the actions differ");
    let program = BpfProgram::try_from(filter).expect("the program is short enough");
    let bytes = program.iter().flat_map(|step| {
        let [low, high] = step.code.to_ne_bytes();
        let [a, b, c, d] = step.k.to_ne_bytes();
        [low, high, step.jt, step.jf, a, b, c, d]
    });
    bytes.collect()
}
