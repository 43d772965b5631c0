// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

// #include "binding.h"
import "C"

import "unsafe"

// Format is a pixel format. Channel names are in the order of bytes in memory. Chroma planes of
// NV12, NV21, I420 and P016 have (width + 1) / 2 columns and (height + 1) / 2 rows, and rows of YUY2
// and UYVY (width + 1) / 2 groups of 4 bytes.
//
// A picture is an image of any of them but GrayF32, Label32, Cap32x4 and Cap32x8.
type Format uint32

// The formats.
const (
	FormatGray8   Format = C.GPV_FORMAT_GRAY8   // uint8
	FormatGray16  Format = C.GPV_FORMAT_GRAY16  // uint16, native byte order
	FormatGrayF32 Format = C.GPV_FORMAT_GRAYF32 // float32
	FormatRGB8    Format = C.GPV_FORMAT_RGB8    // 3 bytes a pixel
	FormatBGR8    Format = C.GPV_FORMAT_BGR8    // 3 bytes a pixel
	FormatRGBA8   Format = C.GPV_FORMAT_RGBA8   // 4 bytes a pixel, straight alpha
	FormatBGRA8   Format = C.GPV_FORMAT_BGRA8   // 4 bytes a pixel, straight alpha
	FormatRGBX8   Format = C.GPV_FORMAT_RGBX8   // 4 bytes a pixel, the last one unused
	FormatBGRX8   Format = C.GPV_FORMAT_BGRX8   // 4 bytes a pixel, the last one unused
	FormatNV12    Format = C.GPV_FORMAT_NV12    // 2 planes: Y, UV interleaved
	FormatI420    Format = C.GPV_FORMAT_I420    // 3 planes: Y, U, V
	FormatP016    Format = C.GPV_FORMAT_P016    // 2 planes: Y, UV interleaved, uint16
	FormatLabel32 Format = C.GPV_FORMAT_LABEL32 // int32: labels, or any signed value
	FormatCap32x4 Format = C.GPV_FORMAT_CAP32X4 // 4 planes of int32: to the E S W N neighbour
	FormatCap32x8 Format = C.GPV_FORMAT_CAP32X8 // 8 planes of int32: E SE S SW W NW N NE
	FormatNV21    Format = C.GPV_FORMAT_NV21    // 2 planes: Y, VU interleaved
	FormatYUY2    Format = C.GPV_FORMAT_YUY2    // Y U Y V, 4 bytes for two pixels
	FormatUYVY    Format = C.GPV_FORMAT_UYVY    // U Y V Y, 4 bytes for two pixels
	FormatY444    Format = C.GPV_FORMAT_Y444    // 3 planes of the same size: Y, U, V
	FormatARGB8   Format = C.GPV_FORMAT_ARGB8   // 4 bytes a pixel, straight alpha
	FormatABGR8   Format = C.GPV_FORMAT_ABGR8   // 4 bytes a pixel, straight alpha
	FormatXRGB8   Format = C.GPV_FORMAT_XRGB8   // 4 bytes a pixel, the first one unused
	FormatXBGR8   Format = C.GPV_FORMAT_XBGR8   // 4 bytes a pixel, the first one unused
	FormatRGBP8   Format = C.GPV_FORMAT_RGBP8   // 3 planes of the same size: R, G, B
)

// Largest sizes of an image.
const (
	MaxPlanes = C.GPV_MAX_PLANES // maximum number of planes of a format
	MaxSide   = C.GPV_MAX_SIDE   // width and height, pixels
	MaxPixels = C.GPV_MAX_PIXELS // width * height
)

// ColorMatrix is the matrix between YUV and RGB. It counts where a format has Y, U and V.
type ColorMatrix uint32

// The matrices.
const (
	ColorMatrixAuto   ColorMatrix = C.GPV_COLOR_MATRIX_AUTO // BT.709 from 720 rows on, else BT.601
	ColorMatrixBT601  ColorMatrix = C.GPV_COLOR_MATRIX_BT601
	ColorMatrixBT709  ColorMatrix = C.GPV_COLOR_MATRIX_BT709
	ColorMatrixBT2020 ColorMatrix = C.GPV_COLOR_MATRIX_BT2020
)

// ColorRange is the range of the YUV values. It counts where a format has Y, U and V.
type ColorRange uint32

// The ranges.
const (
	ColorRangeAuto    ColorRange = C.GPV_COLOR_RANGE_AUTO // limited
	ColorRangeLimited ColorRange = C.GPV_COLOR_RANGE_LIMITED
	ColorRangeFull    ColorRange = C.GPV_COLOR_RANGE_FULL
)

// Planes is the number of planes of the format, 0 of an unknown one.
func (f Format) Planes() int {
	return int(C.gpv_format_planes(C.gpv_format(f)))
}

// Plane is the size of one plane of an image: bytes of a row without padding, and rows.
func (f Format) Plane(plane, width, height int) (rowBytes, rows int, err error) {
	var bytes, count C.int64_t
	status := C.gpv_format_plane(C.gpv_format(f), clamp(plane), clamp(width), clamp(height),
		&bytes, &count)
	if status != C.GPV_OK {
		return 0, 0, invalid("no plane %d of an image of %d x %d pixels and format %d is possible",
			plane, width, height, f)
	}
	return int(bytes), int(count), nil
}

// Image is a view of pixels that someone else owns, or of pixels of its own. What is known of its
// colours may be set before it is used.
type Image struct {
	Matrix ColorMatrix // default ColorMatrixAuto
	Range  ColorRange  // default ColorRangeAuto

	format Format
	memory Memory
	device int
	width  int
	height int
	planes []imagePlane
}

type imagePlane struct {
	pix     []byte  // in host memory: up to the end of the last row, without its padding
	pointer uintptr // in CUDA memory
	stride  int
}

// Sample is what planes may be slices of.
type Sample interface {
	~uint8 | ~uint16 | ~int32 | ~float32
}

// Plane is one plane in host memory.
type Plane struct {
	Pix    []byte // from the first row on; the last one need not be padded
	Stride int    // bytes from one row to the next; 0 = rows without a gap
}

// DevicePlane is one plane in CUDA memory.
type DevicePlane struct {
	Pointer uintptr // of the first row
	Stride  int     // bytes from one row to the next; 0 = rows without a gap
}

// imageLayout is where gpv_image_wrap() puts the planes of an image, one behind the other.
type imageLayout struct {
	offsets [MaxPlanes]C.int64_t
	strides [MaxPlanes]C.int64_t
	bytes   int64
}

func layoutOf(format Format, width, height, stride int) (imageLayout, error) {
	var l imageLayout
	l.bytes = int64(C.gpv_go_layout(C.gpv_format(format), clamp(width), clamp(height),
		C.int64_t(stride), &l.offsets[0], &l.strides[0]))
	if l.bytes < 0 || int64(int(l.bytes)) != l.bytes {
		return l, invalid("an image of %d x %d pixels, format %d and stride %d is not possible",
			width, height, format, stride)
	}
	return l, nil
}

// ImageBytes is the size of an image whose planes lie one behind the other, padding of the last row
// included. Further planes have the stride of the first one, but the U and V planes of I420 half of
// it, rounded up.
//
// stride: bytes from one row of the first plane to the next; 0 = rows without a gap.
func ImageBytes(format Format, width, height, stride int) (int, error) {
	l, err := layoutOf(format, width, height, stride)
	return int(l.bytes), err
}

// NewImage makes a black image in host memory, its planes one behind the other and rows without a
// gap. It fails with ErrInvalidArgument if there is no such image: see MaxSide and MaxPixels.
func NewImage(format Format, width, height int) (*Image, error) {
	l, err := layoutOf(format, width, height, 0)
	if err != nil {
		return nil, err
	}
	words := make([]uint64, (l.bytes+7)/8) // aligned for every sample
	return wrap(format, width, height, bytesOf(words), l)
}

// Wrap makes an image of pixels in host memory, planes one behind the other as in [ImageBytes]. The
// image and pix share memory. Samples of 2 and 4 bytes have to be aligned to their size, as they
// are in slices of them: pix may have the type of the samples, or be bytes.
//
// stride: bytes from one row of the first plane to the next; 0 = rows without a gap.
//
// It fails with ErrInvalidArgument if there is no such image, or pix is too short.
func Wrap[T Sample](format Format, width, height int, pix []T, stride int) (*Image, error) {
	l, err := layoutOf(format, width, height, stride)
	if err != nil {
		return nil, err
	}
	return wrap(format, width, height, bytesOf(pix), l)
}

func wrap(format Format, width, height int, pix []byte, l imageLayout) (*Image, error) {
	planes := make([]Plane, format.Planes())
	for i := range planes {
		planes[i].Stride = int(l.strides[i])
		if offset := int64(l.offsets[i]); offset < int64(len(pix)) {
			planes[i].Pix = pix[offset:]
		}
	}
	return WrapPlanes(format, width, height, planes)
}

// WrapPlanes makes an image of planes in host memory, wherever they lie. The image shares their
// memory. It fails with ErrInvalidArgument if there is no such image, or the number of planes,
// their strides or their bytes do not fit.
func WrapPlanes(format Format, width, height int, planes []Plane) (*Image, error) {
	if err := checkPlanes(format, width, height, len(planes)); err != nil {
		return nil, err
	}
	i := &Image{format: format, width: width, height: height}
	for n, plane := range planes {
		rowBytes, rows, err := format.Plane(n, width, height)
		if err != nil {
			return nil, err
		}
		stride, err := strideOf(n, plane.Stride, rowBytes)
		if err != nil {
			return nil, err
		}
		if have := len(plane.Pix); have < rowBytes || (have-rowBytes)/stride < rows-1 {
			return nil, invalid("plane %d has %d bytes, too few for %d rows of %d bytes, %d apart",
				n, have, rows, rowBytes, stride)
		}
		end := (rows-1)*stride + rowBytes
		i.planes = append(i.planes, imagePlane{pix: plane.Pix[:end:end], stride: stride})
	}
	return i, nil
}

// DeviceImage makes an image of CUDA memory, planes one behind the other as in [ImageBytes]. The
// memory has to live as long as the image is used; nothing can check pointer and stride.
//
// stride: bytes from one row of the first plane to the next; 0 = rows without a gap.
//
// device: the CUDA ordinal.
func DeviceImage(format Format, width, height int, pointer uintptr, stride, device int) (*Image,
	error) {
	l, err := layoutOf(format, width, height, stride)
	if err != nil {
		return nil, err
	}
	planes := make([]DevicePlane, format.Planes())
	for i := range planes {
		planes[i] = DevicePlane{pointer + uintptr(l.offsets[i]), int(l.strides[i])}
	}
	return DevicePlanes(format, width, height, planes, device)
}

// DevicePlanes makes an image of planes in CUDA memory, wherever they lie. Otherwise it is as
// [DeviceImage]. It fails with ErrInvalidArgument if there is no such image, or the number of
// planes or their strides do not fit.
func DevicePlanes(format Format, width, height int, planes []DevicePlane, device int) (*Image,
	error) {
	if err := checkPlanes(format, width, height, len(planes)); err != nil {
		return nil, err
	}
	i := &Image{format: format, memory: MemoryCUDA, device: device, width: width, height: height}
	for n, plane := range planes {
		rowBytes, _, err := format.Plane(n, width, height)
		if err != nil {
			return nil, err
		}
		stride, err := strideOf(n, plane.Stride, rowBytes)
		if err != nil {
			return nil, err
		}
		i.planes = append(i.planes, imagePlane{pointer: plane.Pointer, stride: stride})
	}
	return i, nil
}

func checkPlanes(format Format, width, height, planes int) error {
	if _, err := layoutOf(format, width, height, 0); err != nil {
		return err
	}
	if planes != format.Planes() {
		return invalid("there are %d planes, must be %d", planes, format.Planes())
	}
	return nil
}

// strideOf is the stride that is meant by the one that was given.
func strideOf(plane, given, rowBytes int) (int, error) {
	if given == 0 {
		return rowBytes, nil
	}
	if given < rowBytes {
		return 0, invalid("stride of plane %d is %d, must be at least %d", plane, given, rowBytes)
	}
	return given, nil
}

// Format is the pixel format.
func (i *Image) Format() Format {
	return i.format
}

// Width is in pixels.
func (i *Image) Width() int {
	return i.width
}

// Height is in pixels.
func (i *Image) Height() int {
	return i.height
}

// Memory is where the pixels are.
func (i *Image) Memory() Memory {
	return i.memory
}

// Device is the CUDA ordinal of an image in CUDA memory.
func (i *Image) Device() int {
	return i.device
}

// Stride is in bytes from one row of a plane to the next.
func (i *Image) Stride(plane int) int {
	return i.planes[plane].stride
}

// Pix is the memory of a plane, up to the end of its last row; nil of an image in CUDA memory.
func (i *Image) Pix(plane int) []byte {
	return i.planes[plane].pix
}

// Pointer is the address of a plane in CUDA memory; 0 of an image in host memory.
func (i *Image) Pointer(plane int) uintptr {
	return i.planes[plane].pointer
}

// Samples is the memory of a plane as samples of 2 or 4 bytes, up to the end of its last row. It is
// nil of an image in CUDA memory, and where the plane is not aligned to T.
func Samples[T Sample](i *Image, plane int) []T {
	var sample T
	pix, size := i.Pix(plane), unsafe.Sizeof(sample)
	if len(pix) == 0 || uintptr(unsafe.Pointer(&pix[0]))%size != 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&pix[0])), uintptr(len(pix))/size)
}
