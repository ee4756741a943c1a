! Describes the memory of an actual argument of any type and rank for C.
module weir_memory
  use weir_bindings, only: c_describe, transfer_in_c
  implicit none
  private
  public :: describe

#ifdef __GFORTRAN__
  interface
    ! The interface is not bind(C), so gfortran passes its own descriptor, whose strides count
    ! elements.
    subroutine weir_fortran_correct_strides(memory, transfer)
      import :: transfer_in_c
      type(*), dimension(..), target, asynchronous :: memory
      type(transfer_in_c), intent(inout) :: transfer
    end subroutine
  end interface
#endif

contains

  ! Fills in what the compiler's descriptor of `memory` contains. Copies nothing.
  subroutine describe(memory, transfer)
    type(*), dimension(..), target, asynchronous :: memory
    type(transfer_in_c), intent(inout) :: transfer
    call c_describe(memory, transfer)
#ifdef __GFORTRAN__
    call weir_fortran_correct_strides(memory, transfer)
#endif
  end subroutine
end module
