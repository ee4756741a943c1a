! Sessions: the ranks of a communicator that do I/O together.
module weir_sessions
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use weir_bindings, only: c_finalize_staging, c_init_staging, c_session_abandon, &
                           c_session_abandon_because, c_session_close, c_session_figures, &
                           c_session_open, session_options_in_c, weir_figures
  use weir_outcomes, only: lend_text, settle, with_null
#ifdef WEIR_HAVE_MPI_F08
  use mpi_f08, only: mpi_comm
#endif
  implicit none
  private
  public :: weir_session_open, weir_session_close, weir_session_abandon, weir_session_figures
  public :: weir_init_staging, weir_finalize_staging
  public :: weir_figures  ! weir.h says what each component is: times in ns, sizes in bytes

  ! All components alike; 0, or not allocated, stands for the default. weir.h says what each
  ! component does. Components determine how data is read and written, never which data.
  type, public :: weir_session_options
    real(real64) :: deadline_seconds = 0             ! longest time for which a rank that others
                                                     ! wait for may be silent; 0: 600
    character(len=:), allocatable :: strategy        ! 'automatic', 'direct', 'node', 'two-phase',
                                                     ! 'server-directed'
    integer(int64) :: aggregators = 0                ! per node
    integer(int64) :: buffer_bytes = 0
    integer(int64) :: buffers = 0                    ! per aggregator, at least 2
    integer(int64) :: ranks_per_node = 0
    character(len=:), allocatable :: platform        ! a file that `weir platform probe` writes
    integer(int64) :: alignment_bytes = 0
    integer(int64) :: stripe_bytes = 0
    integer(int64) :: lock_bytes = 0
    integer(int64) :: targets = 0
    character(len=:), allocatable :: engine          ! 'automatic', 'posix', 'io_uring', 'direct-io',
                                                     ! 'mpi-io'
    character(len=:), allocatable :: staging         ! 'none', 'node', 'ranks', 'ranks:2',
                                                     ! 'ranks:1/8'
    character(len=:), allocatable :: io_groups       ! '4', or of every node: '0,0,1,1', '0*2,1*2'
    character(len=:), allocatable :: aggregator_placement  ! 'spread', 'nearest', 'first', 'priced'
    character(len=:), allocatable :: staging_lost    ! 'fail', 'direct'
    character(len=:), allocatable :: durability      ! of files: as in weir_file_options
  end type

  ! Handles are copied by assignment. `close` ends them; the end of the variable does not.
  type, public :: weir_session
    private
    type(c_ptr), public :: handle = c_null_ptr  ! the weir_session * of C
  contains
    procedure, pass(session), private :: open_by_number, open_by_number_as
    generic :: open => open_by_number
#ifdef WEIR_HAVE_MPI_F08
    procedure, pass(session), private :: open_by_handle
    generic :: open => open_by_handle
#endif
    procedure :: close => weir_session_close
    procedure :: abandon => weir_session_abandon
    procedure :: figures => weir_session_figures
  end type

  ! weir_session_open(communicator, session [, options] [, status])
  !
  ! Opens a session on the ranks of an intracommunicator: a type(mpi_comm) of mpi_f08, or the
  ! integer that mpif.h and the module mpi have. Weir duplicates the communicator, so its messages
  ! never meet the program's. Collective over the communicator.
  interface weir_session_open
    module procedure open_by_number
#ifdef WEIR_HAVE_MPI_F08
    module procedure open_by_handle
#endif
  end interface

  ! weir_init_staging(communicator, program [, options] [, status])
  !
  ! Sets apart the ranks in whose place stagers run, if the option `staging` or WEIR_STAGING is
  ! 'ranks' or the like. `program` becomes a communicator of all other ranks, on which sessions are
  ! opened. On a rank that is set apart the call returns when the stager has ended, and `program` is
  ! MPI_COMM_NULL. Collective over the communicator.
  interface weir_init_staging
    module procedure init_staging_by_number
#ifdef WEIR_HAVE_MPI_F08
    module procedure init_staging_by_handle
#endif
  end interface

  ! weir_finalize_staging(program [, status])
  !
  ! Frees `program`, which becomes MPI_COMM_NULL, and lets the stagers end as soon as they have
  ! stored everything. Call when the sessions are closed. Collective over `program`.
  interface weir_finalize_staging
    module procedure finalize_staging_by_number
#ifdef WEIR_HAVE_MPI_F08
    module procedure finalize_staging_by_handle
#endif
  end interface

contains

#ifdef WEIR_HAVE_MPI_F08
  subroutine init_staging_by_handle(communicator, program, options, status)
    type(mpi_comm), intent(in) :: communicator
    type(mpi_comm), intent(out) :: program
    type(weir_session_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    call init_staging_by_number(communicator%mpi_val, program%mpi_val, options, status)
  end subroutine

  subroutine finalize_staging_by_handle(program, status)
    type(mpi_comm), intent(inout) :: program
    integer, intent(out), optional :: status
    call finalize_staging_by_number(program%mpi_val, status)
  end subroutine
#endif

  subroutine init_staging_by_number(communicator, program, options, status)
    integer, intent(in) :: communicator
    integer, intent(out) :: program
    type(weir_session_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(kind=c_char, len=:), allocatable, target :: staging
    type(session_options_in_c) :: in_c
    integer(c_int32_t) :: made
    integer(c_int) :: code
    if (present(options)) then
      in_c%deadline_seconds = options%deadline_seconds
      in_c%ranks_per_node = options%ranks_per_node
      call lend_text(options%staging, staging, in_c%staging)
    end if
    code = c_init_staging(int(communicator, c_int32_t), in_c, made)
    program = int(made)
    call settle(code, status)
  end subroutine

  subroutine finalize_staging_by_number(program, status)
    integer, intent(inout) :: program
    integer, intent(out), optional :: status
    integer(c_int32_t) :: given
    integer(c_int) :: code
    given = int(program, c_int32_t)
    code = c_finalize_staging(given)
    program = int(given)
    call settle(code, status)
  end subroutine

#ifdef WEIR_HAVE_MPI_F08
  subroutine open_by_handle(communicator, session, options, status)
    type(mpi_comm), intent(in) :: communicator
    class(weir_session), intent(inout) :: session
    type(weir_session_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    call open_by_number(communicator%mpi_val, session, options, status)
  end subroutine
#endif

  subroutine open_by_number(communicator, session, options, status)
    integer, intent(in) :: communicator
    class(weir_session), intent(inout) :: session
    type(weir_session_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    type(weir_session_options) :: defaults
    if (present(options)) then
      call session%open_by_number_as(communicator, options, status)
    else
      call session%open_by_number_as(communicator, defaults, status)
    end if
  end subroutine

  subroutine open_by_number_as(session, communicator, options, status)
    class(weir_session), intent(inout) :: session
    integer, intent(in) :: communicator
    type(weir_session_options), intent(in) :: options
    integer, intent(out), optional :: status
    character(kind=c_char, len=:), allocatable, target :: strategy, platform, engine, staging, &
                                                              io_groups, aggregator_placement, &
                                                              staging_lost, durability
    type(session_options_in_c) :: in_c
    in_c%deadline_seconds = options%deadline_seconds
    in_c%aggregators = options%aggregators
    in_c%buffer_bytes = options%buffer_bytes
    in_c%buffers = options%buffers
    in_c%ranks_per_node = options%ranks_per_node
    in_c%alignment_bytes = options%alignment_bytes
    in_c%stripe_bytes = options%stripe_bytes
    in_c%lock_bytes = options%lock_bytes
    in_c%targets = options%targets
    call lend_text(options%strategy, strategy, in_c%strategy)
    call lend_text(options%platform, platform, in_c%platform)
    call lend_text(options%engine, engine, in_c%engine)
    call lend_text(options%staging, staging, in_c%staging)
    call lend_text(options%io_groups, io_groups, in_c%io_groups)
    call lend_text(options%aggregator_placement, aggregator_placement, in_c%aggregator_placement)
    call lend_text(options%staging_lost, staging_lost, in_c%staging_lost)
    call lend_text(options%durability, durability, in_c%durability)
    call settle(c_session_open(int(communicator, c_int32_t), in_c, session%handle), status)
  end subroutine

  ! Closes the session and the arrays that are open in it, after the requests under way; the handles
  ! of all of them, and of distributions, are invalid afterwards. If closing an array fails (data
  ! may be lost), so does this call. Call before MPI_Finalize. Collective.
  subroutine weir_session_close(session, status)
    class(weir_session), intent(inout) :: session
    integer, intent(out), optional :: status
    call settle(c_session_close(session%handle), status)
  end subroutine

  ! Gives a session up without waiting for any other rank. This is for a program that leaves after a
  ! failure of its own: the session's resources stay as they are until the process ends. With a
  ! reason, one line, the other ranks' calls end at once with weir_e_broken and a line that names
  ! this rank, the step that it had begun, and the reason. Local.
  subroutine weir_session_abandon(session, reason)
    class(weir_session), intent(inout) :: session
    character(*), intent(in), optional :: reason
    if (present(reason)) then
      call c_session_abandon_because(session%handle, with_null(reason))
    else
      call c_session_abandon(session%handle)
    end if
  end subroutine

  ! Gets the figures of the latest request that ended: on what this rank spent the time. Local.
  subroutine weir_session_figures(session, figures, status)
    class(weir_session), intent(in) :: session
    type(weir_figures), intent(out) :: figures
    integer, intent(out), optional :: status
    call settle(c_session_figures(session%handle, figures), status)
  end subroutine
end module
