! Several arrays under one plan, begun requests, figures and reasons, options of arrays.
module requests_test
  use, intrinsic :: iso_fortran_env, only: int32, real32, real64
  use checks
  implicit none
  private
  public :: test_requests

contains

  subroutine test_requests()
    call test_many()
    call test_begun()
    call test_figures_and_explain()
    call test_chunks_and_files()
    call test_durable_and_read_only()
    call test_integer_communicator()
  end subroutine

  subroutine test_many()
    real(real64), target :: t(3, 4), t_back(3, 4)
    integer(int32), target :: p(5, 3, 4), p_back(5, 3, 4)
    type(weir_array) :: temperature, pressure
    type(weir_distribution) :: t_columns, p_columns
    type(weir_transfer) :: transfers(2)
    call temperature%create(session, path('t'), [3, 4 * ranks], 'float64')
    call pressure%create(session, path('p'), [5, 3, 4 * ranks], 'int32')
    call t_columns%create(session, [3, 4 * ranks], '*, BLOCK')
    call p_columns%create(session, [5, 3, 4 * ranks], '*, *, BLOCK')
    t = rank + 0.5d0
    p = rank
    transfers(1) = weir_transfer(temperature, t_columns, t)
    transfers(2) = weir_transfer(pressure, p_columns, p)
    call weir_write_many(session, transfers)
    t_back = -1
    p_back = -1
    call weir_read_many(session, [weir_transfer(temperature, t_columns, t_back), &
                                  weir_transfer(pressure, p_columns, p_back)])
    call check(all(t_back == t) .and. all(p_back == p), 'two arrays of different types and ranks')
  end subroutine

  subroutine test_begun()
    real(real32), asynchronous :: first(100), second(100), back(100)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    type(weir_request) :: requests(2)
    logical :: complete
    integer :: i, status
    call array%create(session, path('begun'), [200 * ranks], 'float32')
    call mine%create(session, [200 * ranks], 'CYCLIC(100)')
    call two_rounds()
    call weir_read_begin(session, [weir_transfer(array, mine, back)], requests(1), status)
    call check(status == weir_ok, 'what is wrong is told later')
    call requests(1)%wait(status)
    call check(status == weir_e_argument .and. told('data_shape'), 'memory of half the size')
    call requests(1)%wait(status)
    call check(status == weir_ok, 'a request that has ended')
    call requests(2)%test(complete, status)
    call check(status == weir_ok .and. complete, 'a request that never began')
    call requests(2)%detach(status)
    call check(status == weir_ok, 'detaching a request that never began')
    call detached_round()

  contains

    subroutine detached_round()
      real(real32), asynchronous :: given(200), read_back(200)
      given = rank + 7
      call weir_write_begin(session, [weir_transfer(array, mine, given)], requests(1))
      call requests(1)%detach()
      given = -1
      call weir_read(array, mine, read_back)
      call check(all(read_back == rank + 7), 'what was detached is written as it was')
    end subroutine

    subroutine two_rounds()
      real(real32), asynchronous :: both(200), both_back(200)
      both(:100) = [(real(rank * 1000 + i, real32), i=1, 100)]
      both(101:) = -both(:100)
      first = both(:100)
      second = both(101:)
      call weir_write_begin(session, [weir_transfer(array, mine, both, &
                                      section=weir_section([1], [100 * ranks]))], requests(1))
      call weir_write_begin(session, [weir_transfer(array, mine, both, &
                                      section=weir_section([100 * ranks + 1], [100 * ranks]))], &
                            requests(2))
      do
        call requests(2)%test(complete, status)
        call check(status == weir_ok, 'tested')
        if (complete) exit
      end do
      call weir_wait(requests(1))
      both_back = 0
      call weir_read_begin(session, [weir_transfer(array, mine, both_back)], requests(1))
      call weir_wait(requests(1), status)
      call check(status == weir_ok .and. all(both_back(:100) == first), 'the first half')
      call check(all(both_back(101:) == second), 'the second half')
    end subroutine
  end subroutine

  subroutine test_figures_and_explain()
    real(real64), target :: data(50)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    type(weir_figures) :: figures
    character(len=:), allocatable :: reasons
    call array%create(session, path('figures'), [50 * ranks], 'float64')
    call mine%create(session, [50 * ranks], 'BLOCK')
    data = rank
    reasons = weir_session_explain(session, weir_direction_write, &
                                   [weir_transfer(array, mine, data)])
    call check(index(reasons, 'seconds') > 0, 'the estimated time of each strategy')
    call weir_write(array, mine, data)
    call session%figures(figures)
    call check(figures%bytes_asked == 400, 'bytes of this rank''s memory')
    call check(figures%strategy >= 1 .and. figures%strategy <= 4, 'a strategy was chosen')
    call check(figures%engine >= 1 .and. figures%engine <= 4, 'an engine was chosen')
    call check(all(figures%reserved == 0), 'the struct is as C has it')
  end subroutine

  ! Options, whose numbers are Fortran's: the parts come back, and the document has them turned.
  subroutine test_chunks_and_files()
    integer(int32) :: data(4, 6), back(4, 6)
    type(weir_array) :: array
    type(weir_distribution) :: columns
    type(weir_array_options) :: options
    integer :: i
    character(len=:), allocatable :: document
    data = reshape([(100 * rank + i, i=1, 24)], [4, 6])
    call columns%create(session, [4, 6 * ranks], '*, BLOCK')
    options%chunks = [4, 3]
    options%files = weir_file_per_rank
    if (rank == 0) call execute_command_line('mkdir -p '//path('one')//' '//path('two'))
    call mpi_barrier(mpi_comm_world)
    options%directories = [character(len=3) :: 'one', 'two']
    call array%create(session, path('chunks'), [4, 6 * ranks], 'int32', options)
    call weir_write(array, columns, data)
    call array%close()
    document = contents('chunks.json')
    call check(index(document, '"two"') > 0, 'directories are in the document')
    call array%open(session, path('chunks'))
    call weir_read(array, columns, back)
    call check(all(back == data), 'chunks in several files')
    call check(array%element_bytes() == 4, 'bytes of an element')
    deallocate (options%chunks, options%directories)
    options%files = weir_shared_file
    options%natural_chunks = columns
    call array%create(session, path('chunks'), [4, 6 * ranks], 'int32', options)
    call weir_write(array, columns, data)
    back = 0
    call weir_read(array, columns, back)
    call check(all(back == data), 'natural chunks')
    call array%close()
    options = weir_array_options(typical_request=[4, 1], chunk_buffer_bytes=4096, &
                                 order=weir_row_major)
    call array%create(session, path('chunks'), [4, 6 * ranks], 'int32', options)
    call weir_write(array, columns, data)
    back = 0
    call weir_read(array, columns, back)
    call check(all(back == data), 'chunks for a typical request')
  end subroutine

  subroutine test_durable_and_read_only()
    integer(int32) :: data(3)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    integer :: status
    call mine%create(session, [3 * ranks], 'BLOCK')
    call array%create(session, path('durable'), [3 * ranks], 'int32')
    data = rank
    call weir_write(array, mine, data)
    call array%sync(status)
    call check(status == weir_ok, 'durable')
    call array%close(status)
    call check(status == weir_ok, 'closed')
    call array%open(session, path('durable'), weir_open_options(read_only=.true.))
    call weir_write(array, mine, data, status=status)
    call check(status == weir_e_argument .and. told('read-only'), 'an array that is open read-only')
  end subroutine

  subroutine test_integer_communicator()
    type(weir_session) :: other
    type(weir_session_options) :: options
    integer :: status
    options%engine = 'none'
    call other%open(mpi_comm_world, options, status)
    call check(status == weir_e_argument .and. told('none'), 'an engine that there is not')
    call other%open(mpi_comm_world%mpi_val, status=status)
    call check(status == weir_ok, 'a communicator of the module mpi')
    call other%close()
    call other%open(mpi_comm_world)
    call other%abandon()
  end subroutine
end module
