! Writes a file by the module mpi, which has the same symbols as mpif.h, and reads it by mpi_f08.
module by_mpi
contains
  subroutine write_it(rank)
    use mpi
    integer, intent(in) :: rank
    integer :: file, error, values(4)
    integer(kind=MPI_OFFSET_KIND) :: place
    values = rank
    place = 16 * rank
    call MPI_File_open(MPI_COMM_WORLD, 'fortran.out', ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), &
      MPI_INFO_NULL, file, error)
    call MPI_File_write_at_all(file, place, values, 4, MPI_INTEGER, MPI_STATUS_IGNORE, error)
    call MPI_File_close(file, error)
  end subroutine
end module

module by_mpi_f08
contains
  subroutine read_it(rank)
    use mpi_f08
    integer, intent(in) :: rank
    type(MPI_File) :: file
    integer :: values(4)
    integer(kind=MPI_OFFSET_KIND) :: place
    place = 16 * rank
    call MPI_File_open(MPI_COMM_WORLD, 'fortran.out', MPI_MODE_RDONLY, MPI_INFO_NULL, file)
    call MPI_File_read_at(file, place, values, 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_close(file)
    if (any(values /= rank)) error stop 'other values were read'
  end subroutine
end module

program fortran
  use mpi
  use by_mpi
  use by_mpi_f08
  integer :: rank, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call write_it(rank)
  call read_it(rank)
  call MPI_Finalize(error)
end program
