# The compression libraries behind fastserve::coding, as imported targets fastserve::codec_NAME. Included by the build
# and by the installed package, since who links a static archive links what it needs. Not all of the libraries come with
# a CMake package everywhere, so none is looked for that way.

# fastserve_find_codec(name header library...): a fault where something is missing, in `fastserve_codec_fault`.
function(fastserve_find_codec name header)
  if(TARGET fastserve::codec_${name})
    return()
  endif()
  set(found "")
  foreach(library IN LISTS ARGN)
    find_library(FASTSERVE_LIBRARY_${library} ${library})
    mark_as_advanced(FASTSERVE_LIBRARY_${library})
    list(APPEND found ${FASTSERVE_LIBRARY_${library}})
  endforeach()
  find_path(FASTSERVE_INCLUDE_${name} ${header})
  mark_as_advanced(FASTSERVE_INCLUDE_${name})
  if("${found};${FASTSERVE_INCLUDE_${name}}" MATCHES NOTFOUND)
    set(fastserve_codec_fault "${name} not found: it takes <${header}> and the libraries ${ARGN}" PARENT_SCOPE)
    return()
  endif()
  add_library(fastserve::codec_${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(fastserve::codec_${name} INTERFACE ${FASTSERVE_INCLUDE_${name}})
  target_link_libraries(fastserve::codec_${name} INTERFACE ${found})
endfunction()

# fastserve_find_codecs(name...): of zlib, brotli and zstd those that are named.
macro(fastserve_find_codecs)
  foreach(codec IN ITEMS ${ARGN})
    if(codec STREQUAL zlib)
      fastserve_find_codec(zlib zlib.h z)
    elseif(codec STREQUAL brotli)
      fastserve_find_codec(brotli brotli/encode.h brotlienc brotlidec brotlicommon)
    elseif(codec STREQUAL zstd)
      fastserve_find_codec(zstd zstd.h zstd)
    endif()
  endforeach()
endmacro()
