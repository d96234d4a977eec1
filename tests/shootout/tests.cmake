# What the report says of a record; the records are made up. Sources only, so one build checks them.
if(NOT FASTSERVE_SANITIZE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  foreach(name IN ITEMS figures report compare)
    add_test(NAME shootout_${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/tests/test_${name}.py)
    set_tests_properties(shootout_${name} PROPERTIES
      TIMEOUT 60
      ENVIRONMENT PYTHONDONTWRITEBYTECODE=1
      FAIL_REGULAR_EXPRESSION "Ran 0 tests")
  endforeach()
  # The README's numbers are those of the record that it names.
  add_test(NAME shootout_readme
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/readme_table.py --check ${PROJECT_SOURCE_DIR}/README.md)
  set_tests_properties(shootout_readme PROPERTIES TIMEOUT 60 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()
